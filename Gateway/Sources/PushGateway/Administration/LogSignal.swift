import Synchronization

/// A signal to the followers of the delivery log that it has new entries.
package final class LogSignal: Sendable {
    private let waiting = Mutex<[UInt64: AsyncStream<Void>.Continuation]>([:])
    private let last = Mutex<UInt64>(0)

    package init() {}

    package func grew() {
        waiting.withLock { followers in
            for follower in followers.values { follower.yield() }
        }
    }

    /// A stream with one element for all entries since the last element was taken.
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
