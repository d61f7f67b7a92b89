import CNightshift
import Synchronization

/// Memory that the service has freed but glibc keeps, in the heap of each thread that allocated some.
final class FreeMemory: Sendable {
    private let isAwaited = Atomic(false)

    /// The pause after which the memory of a burst of requests is free. Many requests cause only one check of the
    /// heaps.
    private static let pause: Duration = .seconds(1)

    /// Limits the free memory at the end of each heap. By default, glibc keeps twice as much as the largest piece ever
    /// freed (mallopt(3)): one request with 5,000 transfers would use 30 MiB permanently. The buffers of transfers are
    /// smaller than this limit.
    static func bound() {
        _ = nightshift_bound_free_memory(4 << 20)
    }

    /// Returns free memory to the system after a moment. The limit applies to each heap, and there are as many heaps as
    /// threads that were busy at the same time. Returns immediately.
    func giveBackSoon() {
        guard !isAwaited.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task {
            try? await Task.sleep(for: Self.pause)
            // Cleared first, so that memory that is freed from here on is returned in another round.
            isAwaited.store(false, ordering: .releasing)
            nightshift_return_free_memory()
        }
    }
}
