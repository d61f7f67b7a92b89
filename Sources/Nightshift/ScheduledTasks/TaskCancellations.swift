import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Takes requests for scheduled tasks back, in the order of the calls; those that the service could not be told of when it is back,
/// and before anything else is asked of it.
final class TaskCancellations: Sendable {
    private let queue = DispatchQueue(label: "nightshift.task-cancellations")
    private let state = Mutex(State())
    /// One thread tells at a time: a request that is made behind its cancellation is not taken back by another thread's.
    private let turn = Turn()

    private struct State {
        weak var connection: ServiceConnection?
        /// Those that the service has not heard of; nil is one of every request.
        var unsent: [String?] = []
    }

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// - Parameter identifier: nil stands for every request.
    func add(_ identifier: String?) {
        state.withLock { $0.unsent.append(identifier) }
        try? send(within: RefreshHandler.patience)
    }

    /// The service can be reached (again).
    func serviceIsBack() {
        queue.async { [self] in try? send(within: RefreshHandler.patience) }
    }

    /// Blocks for `patience` at most, where others are at it, too, and however many there are.
    ///
    /// - Throws: ``ServiceUnreachable`` where the service cannot be told, `CancellationError` where the connection is closed.
    func send(within patience: Duration) throws {
        // With the last one told nobody is at it any more.
        guard state.withLock({ !$0.unsent.isEmpty }) else { return }
        try turn.run(within: patience) { try sendInTurn(until: .now + $0) }
    }

    private func sendInTurn(until deadline: ContinuousClock.Instant) throws {
        while let (connection, identifier) = next() {
            do {
                try connection.notify(
                    .cancelScheduledTask(identifier), hasty: true, patience: max(.zero, deadline - .now))
            } catch is Problem {
                // There is no such request, which is all that was wanted.
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
