import Foundation
import NightshiftAPI
import NightshiftClient

/// What the service has to say to a process that is run as background work, for as long as somebody listens.
///
/// Asks for one background task each time the service has accepted it. A connection that breaks off is made again without a word.
struct ProcessChannel: Sendable {
    var service: Service
    /// The stream of its commands.
    var source: EventSource
    var task: BackgroundTaskRequest

    enum Event: Hashable, Sendable {
        /// The service has the task.
        case granted
        /// It will not have it; nothing more comes.
        case refused(String)
        case expiring
    }

    private static let firstPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .seconds(5)

    /// Returns when it is cancelled, or behind ``Event/refused(_:)``.
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
                // It is away: the next attempt says whether it stays so.
            }
            guard (try? await Task.sleep(for: state.pause)) != nil else { return }
            state.pause = min(state.pause * 2, Self.longestPause)
        }
    }

    private struct State {
        var pause = ProcessChannel.firstPause
        var wasGranted = false
        /// Somebody has stopped the service: it is waited for, and not started.
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
