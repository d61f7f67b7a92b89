import Dispatch

/// Where work that blocks on a disk is done, so that it never holds up a thread of Swift's pool.
final class DiskQueue: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) {
        queue = DispatchQueue(label: name)
    }

    /// Runs `body` after everything that was given before.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
