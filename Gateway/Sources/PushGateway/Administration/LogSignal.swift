import Synchronization

/// A signal to followers of the delivery log that the log has new entries.
package final class LogSignal: Sendable {
    private let waiting = Mutex<[UInt64: AsyncStream<Void>.Continuation]>([:])
    private let last = Mutex<UInt64>(0)

    package init() {}

    package func grew() {
        waiting.withLock { followers in
            for follower in followers.values { follower.yield() }
        }
    }

    /// Returns a stream with one element for all entries that were added since the reader received the last element.
    package func growth() -> AsyncStream<Void> {
        let number = last.withLock { last in
            last += 1
            return last
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.onTermination = { _ in
            self.waiting.withLock { $0[number] = nil }
        }
        waiting.withLock { $0[number] = continuation }
        return stream
    }
}
