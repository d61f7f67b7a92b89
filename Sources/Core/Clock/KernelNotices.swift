import Executors

/// Streams of events from descriptors of the kernel. They share one thread, which sleeps until an event.
package enum KernelNotices {
    /// Returns a stream with an event whenever `take` has taken one from the descriptor. Events that were not read yet
    /// are combined.
    ///
    /// - Parameters:
    ///   - descriptor: the descriptor, which the stream closes; the stream finishes immediately if it is negative.
    ///   - take: a function that takes an event from the readable descriptor, and returns false if it fails. The stream
    ///     then finishes. It must not block.
    package static func stream(
        of descriptor: Int32, take: @escaping @Sendable (Int32) -> Bool
    ) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard descriptor >= 0 else {
            continuation.finish()
            return stream
        }
        let isWatched = EventThread.shared.watch(descriptor) {
            guard take(descriptor) else {
                continuation.finish()
                return false
            }
            if case .terminated = continuation.yield() { return false }
            return true
        }
        if !isWatched { continuation.finish() }
        return stream
    }
}
