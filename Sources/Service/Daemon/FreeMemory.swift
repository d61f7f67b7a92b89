import CNightshift
import Synchronization

/// The memory that the service has freed but that glibc keeps. Each thread that allocated memory has a heap with such
/// memory.
final class FreeMemory: Sendable {
    private let isAwaited = Atomic(false)

    /// The pause between a request and the return of its memory. After this pause, a burst of requests has freed its
    /// memory, and many requests cause only one check of the heaps.
    private static let pause: Duration = .seconds(1)

    /// Limits the free memory at the end of each heap. By default, glibc keeps twice as much as the largest piece ever
    /// freed (mallopt(3)): a single request with 5,000 transfers would use 30 MiB permanently. The buffers of transfers
    /// are smaller than this limit.
    static func bound() {
        _ = nightshift_bound_free_memory(4 << 20)
    }

    /// Arranges that free memory is returned to the system after a short pause, and returns immediately. This is needed
    /// because the limit applies to each heap, and there are as many heaps as threads that were busy at the same time.
    func giveBackSoon() {
        guard !isAwaited.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task {
            try? await Task.sleep(for: Self.pause)
            // The flag is cleared first, so that memory that is freed from here on is returned in another round.
            isAwaited.store(false, ordering: .releasing)
            nightshift_return_free_memory()
        }
    }
}
