import Foundation
import Synchronization

/// A value that comes later, from whatever thread; the first one counts.
public final class Outcome<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let what: String

    /// - Parameter what: named where it does not come.
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

    /// Waits for it; throws ``Broken`` when it has not come in a minute, as nothing here takes even a second on a quiet machine.
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
