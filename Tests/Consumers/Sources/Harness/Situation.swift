import Foundation
import Synchronization

/// The error of a situation that does not hold.
public struct Broken: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

private let broken = Mutex<[String]>([])

/// Runs the code of a situation and prints a line with its result. If the situation does not hold, the program
/// continues with the next.
public func situation(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async {
    do {
        try await body()
        print("ok: \(name)")
    } catch {
        print("BROKEN: \(name): \(error)")
        broken.withLock { $0.append(name) }
    }
    fflush(nil)
}

/// Ends the program, with status 0 if every situation held.
public func finish() -> Never {
    exit(broken.withLock(\.isEmpty) ? 0 : 1)
}

public func expect(_ isSo: Bool, _ claim: @autoclosure () -> String, line: UInt = #line) throws {
    if !isSo { throw Broken("\(claim()) (line \(line))") }
}

public func expectEqual<Value: Equatable>(_ value: Value, _ expected: Value, line: UInt = #line) throws {
    if value != expected { throw Broken("\(value), expected \(expected) (line \(line))") }
}

public func unwrap<Value>(_ value: Value?, _ what: String, line: UInt = #line) throws -> Value {
    guard let value else { throw Broken("no \(what) (line \(line))") }
    return value
}
