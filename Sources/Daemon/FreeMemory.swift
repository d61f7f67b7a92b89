import CNightshift
import Synchronization

/// Memory that the service has freed, and glibc keeps: in the heap of each thread that took some, beside what is in use.
final class FreeMemory: Sendable {
    private let isAwaited = Atomic(false)

    /// What a burst of requests took is free by then, and many of them cost one look at the heaps.
    private static let pause: Duration = .seconds(1)

    /// By itself glibc keeps twice as much at the end of each heap as the largest piece that was ever freed (mallopt(3)): one
    /// request of 5,000 tasks would cost 30 MiB for good. The buffers of transfers are smaller than this.
    static func bound() {
        _ = nightshift_bound_free_memory(4 << 20)
    }

    /// Gives what is free in a moment back to the system. The bound is one of each heap, and there are as many heaps as threads
    /// were busy at once. Returns at once.
    func giveBackSoon() {
        guard !isAwaited.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task {
            try? await Task.sleep(for: Self.pause)
            // First: what is freed from here on has its own turn.
            isAwaited.store(false, ordering: .releasing)
            nightshift_return_free_memory()
        }
    }
}
