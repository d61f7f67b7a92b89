import Foundation
import NightshiftAPI
import NightshiftClient

/// The connection to the service for a process that is run as background work.
///
/// Begins the background task each time the service accepts the connection. A lost connection is restored silently.
struct ProcessChannel: Sendable {
    var service: Service
    /// The event stream with the service's commands.
    var source: EventSource
    var task: BackgroundTaskRequest

    enum Event: Hashable, Sendable {
        /// The service has accepted the task.
        case granted
        /// The service has refused the task. No more events follow.
        case refused(String)
        case expiring
    }

    private static let firstPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .seconds(5)

    /// Runs until it is cancelled or until ``Event/refused(_:)``.
    func run(_ tell: @Sendable (Event) -> Void) async {
        var state = State()
        while !Task.isCancelled {
            do {
                try await connect(&state, tell)
            } catch is CancellationError {
                return
            } catch let problem as Problem where problem.status != 503 && problem.status != 429 {
                return tell(.refused(problem.detail ?? problem.title))
            } catch let failure as ServiceUnusable where !state.wasGranted {
                return tell(.refused(failure.message))
            } catch {
                // The service may have stopped. The next attempt finds out.
            }
            guard (try? await Task.sleep(for: state.pause)) != nil else { return }
            state.pause = min(state.pause * 2, Self.longestPause)
        }
    }

    private struct State {
        var pause = ProcessChannel.firstPause
        var wasGranted = false
        /// Whether the service has announced that it is stopping. Then it is waited for and not started.
        var wasStopped = false
    }

    private func connect(_ state: inout State, _ tell: @Sendable (Event) -> Void) async throws {
        guard !state.wasStopped || ServiceSocket.state(of: service.client.socket) == .accepting else { return }
        try await service.ready()
        var events = service.client.events(source, lastEventID: 0).makeAsyncIterator()
        while let event = try await events.next() {
            switch event.name {
            case "hello":
                try await service.client.send(.beginBackgroundTask(task))
                state = State(wasGranted: true)
                tell(.granted)
            case "stopping": state.wasStopped = true
            case "command":
                let command = try JSON.decode(ProcessCommand.self, from: Data(event.data.utf8))
                guard command.action == .expire else { continue }
                tell(.expiring)
                try await service.client.send(.acknowledge(CommandAcknowledgement(command: command.number)))
            default: continue
            }
        }
    }
}
