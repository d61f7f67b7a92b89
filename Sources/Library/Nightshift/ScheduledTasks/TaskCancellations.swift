import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// A queue of cancellations of requests for scheduled tasks. The cancellations are sent in the order of the calls. If
/// the service cannot be reached, they are sent when the service is back, before any other request about tasks.
final class TaskCancellations: Sendable {
    private let queue = WorkQueue()
    private let state = Mutex(State())
    /// A lock for sending. Only one thread sends at a time. Otherwise another thread's cancellation could cancel a
    /// request that was submitted after it.
    private let turn = Turn()

    private struct State {
        weak var connection: ServiceConnection?
        /// The identifiers of the requests whose cancellations were not sent yet. Nil means all requests.
        var unsent: [String?] = []
    }

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// Adds a cancellation to the ones that will be sent.
    ///
    /// - Parameter identifier: The identifier of the request, or nil for all requests.
    func add(_ identifier: String?) {
        state.withLock { $0.unsent.append(identifier) }
        try? send(within: RefreshHandler.timeout)
    }

    /// Sends the pending cancellations when the service can be reached, for the first time or again.
    func onReconnect() {
        queue.add { [self] in try? send(within: RefreshHandler.timeout) }
    }

    /// Sends the cancellations. Blocks for at most `timeout`, regardless of their number, and even if other threads
    /// are sending them.
    ///
    /// - Throws: ``ServiceUnreachable`` if the service cannot be reached, `CancellationError` if the connection is
    ///   closed.
    func send(within timeout: Duration) throws {
        // If the array is empty, no thread is sending cancellations.
        guard state.withLock({ !$0.unsent.isEmpty }) else { return }
        try turn.run(within: timeout) { try sendInTurn(until: .now + $0) }
    }

    private func sendInTurn(until deadline: ContinuousClock.Instant) throws {
        while let (connection, identifier) = next() {
            do {
                try connection.notify(
                    .cancelScheduledTask(identifier), hasty: true, timeout: max(.zero, deadline - .now))
            } catch is Problem {
                // The service has no such request, so the cancellation is done.
            }
            state.withLock { _ = $0.unsent.removeFirst() }
        }
    }

    private func next() -> (ServiceConnection, String?)? {
        state.withLock { state in
            guard let connection = state.connection, let identifier = state.unsent.first else { return nil }
            return (connection, identifier)
        }
    }
}
