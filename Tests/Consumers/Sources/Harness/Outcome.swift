import Foundation
import Synchronization

/// A value that is set later, on any thread. Only the first value counts.
public final class Outcome<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let what: String

    /// - Parameter what: The name of the value for the error message if the value is not set.
    public init(_ what: String) {
        self.what = what
    }

    public func give(_ value: Value) {
        let waiters = state.withLock { state -> [CheckedContinuation<Value?, Never>] in
            guard state.value == nil else { return [] }
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    public var current: Value? { state.withLock(\.value) }

    /// Waits for the value. Throws ``Broken`` if it is not set within a minute, although all values here take less than
    /// a second on an idle machine.
    public func value() async throws -> Value {
        let value = await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let (early, number) = state.withLock { state -> (Value?, Int) in
                state.next += 1
                if state.value == nil { state.waiters[state.next] = continuation }
                return (state.value, state.next)
            }
            if let early { return continuation.resume(returning: early) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
                self.state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: nil)
            }
        }
        guard let value else { throw Broken("\(what) did not come") }
        return value
    }
}
