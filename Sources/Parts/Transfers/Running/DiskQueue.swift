import Dispatch

/// A queue for work that blocks on a disk, so that such work never blocks a thread of Swift's pool.
final class DiskQueue: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) {
        queue = DispatchQueue(label: name)
    }

    /// Runs `body` after all work that was added before.
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
