import Foundation
import NightshiftAPI
import NightshiftClient

/// A connection to the service for a process that is run as background work.
///
/// Each time the service accepts the connection, the channel begins the background task. If the connection is lost, the
/// channel restores it silently.
struct ProcessChannel: Sendable {
    var service: Service
    /// The event stream on which the service sends commands.
    var source: EventSource
    var task: BackgroundTaskRequest

    enum Event: Hashable, Sendable {
        /// The event that the service has accepted the task.
        case granted
        /// The event that the service has refused the task, with the reason. It is the last event.
        case refused(String)
        case expiring
    }

    private static let firstPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .seconds(5)

    /// Keeps the connection open until this Swift task is cancelled or the service refuses the task.
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
                // The service may have stopped. The next attempt to connect will show this.
            }
            guard (try? await Task.sleep(for: state.pause)) != nil else { return }
            state.pause = min(state.pause * 2, Self.longestPause)
        }
    }

    private struct State {
        var pause = ProcessChannel.firstPause
        var wasGranted = false
        /// Whether the service has announced that it is stopping. If so, the channel waits for the service and does not
        /// start it.
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
