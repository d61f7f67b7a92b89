import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the service's commands to handle a session's events (row T9).
@Suite struct CommandHandlerTests {
    @Test func `T9: Each handleEvents command of a session reports the end of its events separately`()
        async throws
    {
        let world = try World()
        let process = world.process()
        let receiver = PatientReceiver()
        process.connection.commands.setReceiver(receiver)
        let recorder = Recorder()
        process.session(recorder).downloadTask(with: url()).resume()
        let message = try world.service.end(1)
        try await recorder.heard.wait(for: "the end") { $0.last == "1 completed" }
        for number: Int64 in 1...2 {
            var command = ProcessCommand(number: number, action: .handleEvents)
            command.session = "org.example.photos"
            command.through = message
            world.service.command(command)
        }
        try await receiver.told.wait(for: "both commands") { $0.count == 2 }
        for number in 1...2 {
            receiver.told.read { $0[number - 1]() }
            try await recorder.heard.wait(for: "the events' end") { heard in
                heard.count { $0 == "finished events" } == number
            }
        }
    }

    @Test func `T9: A wake for an ended session is completed when the app has received it`() async throws {
        let world = try World()
        let process = world.process()
        let receiver = PatientReceiver()
        process.connection.commands.setReceiver(receiver)
        let recorder = Recorder()
        let session = process.session(recorder)
        session.downloadTask(with: url()).resume()
        session.finishTasksAndInvalidate()
        let message = try world.service.end(1)
        try await recorder.heard.wait(for: "the session's end") { $0.last == "invalid" }
        var command = ProcessCommand(number: 1, action: .handleEvents)
        command.session = "org.example.photos"
        command.through = message
        world.service.command(command)
        try await receiver.told.wait(for: "the command") { $0.count == 1 }
        receiver.told.read { $0[0]() }
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
    }

    /// The commands end as in an app whose delegate does not implement the method.
    @Test func `T9: Only its own events complete a command`() async throws {
        let world = try World()
        let process = world.process()
        let receiver = PatientReceiver()
        let commands = process.connection.commands
        commands.setReceiver(receiver)
        let recorder = Recorder()
        let session = process.session(recorder)
        for _ in 1...2 { session.downloadTask(with: url()).resume() }
        for number: Int64 in 1...2 {
            var command = ProcessCommand(number: number, action: .handleEvents)
            command.session = "org.example.photos"
            // The command arrives before the messages.
            command.through = number
            world.service.command(command)
        }
        try await receiver.told.wait(for: "both commands") { $0.count == 2 }
        for number in 0...1 {
            commands.complete("org.example.photos", receiver.completions.read { $0[number] })
        }
        for told in receiver.told.read({ $0 }) { told() }
        for number: Int64 in 1...2 {
            try world.service.end(number)
            try await world.service.state.wait(for: "the acknowledgement") {
                $0.acknowledgedCommands.last == number
            }
            #expect(world.service.state.read { $0.acknowledgedCommands } == Array(1...number))
        }
    }
}

/// The receiver of an app whose main thread has not executed its requests yet.
private final class PatientReceiver: CommandReceiver {
    let completions = Watched<[@Sendable () -> Void]>([])
    let told = Watched<[@Sendable () -> Void]>([])

    func handleEvents(
        of session: String, completion: @escaping @Sendable () -> Void, told: @escaping @Sendable () -> Void
    ) {
        completions.update { $0.append(completion) }
        self.told.update { $0.append(told) }
    }

    func enter(_ state: AppState, done: @escaping @Sendable () -> Void) { done() }

    func performFetch(completion: @escaping @Sendable (RefreshResult) -> Void) { completion(.noData) }

    func receive(_ delivery: PushDelivery, completion: @escaping @Sendable (RefreshResult) -> Void) {
        completion(.noData)
    }

    func registrationEnded(_ notice: PushNotice) {}

    func refreshStatusChanged() {}

    func takeSnapshot(done: @escaping @Sendable (Data?) -> Void) { done(nil) }

    func willTerminate(done: @escaping @Sendable () -> Void) { done() }
}
