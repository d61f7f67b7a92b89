import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the states of an app, and of wakes for a session (rows L1 and T7).
@Suite @MainActor struct ApplicationTests {
    /// Launches an app with a delegate.
    private func launched(
        _ process: AppProcess, _ environment: [String: String] = [:]
    ) -> (application: Application, delegate: AppDelegate) {
        let application = Application(connection: process.connection)
        let delegate = AppDelegate()
        delegate.process = process
        application.delegate = delegate
        application.launch(environment: environment)
        return (application, delegate)
    }

    private func command(
        _ number: Int64, _ action: ProcessCommand.Action, _ prepare: (inout ProcessCommand) -> Void = { _ in }
    ) -> ProcessCommand {
        var command = ProcessCommand(number: number, action: action)
        prepare(&command)
        return command
    }

    @Test func `L1: An app that the user launches becomes active, and its delegate gets each transition`()
        async throws
    {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let delegate = AppDelegate()
        application.delegate = delegate
        application.launch(environment: [:])
        #expect(delegate.heard == ["launched, background: false", "active"])
        #expect(application.applicationState == .active)
        try await world.service.state.wait(for: "its report") { $0.states == [.active] }
        var acknowledged: [Int64] = []
        for (number, state) in [(1, AppState.background), (2, .active), (3, .inactive), (4, .active), (4, .active)] {
            world.service.command(command(Int64(number), .enter) { $0.state = state })
            acknowledged.append(Int64(number))
            // Each state is awaited, because the app may itself have entered a state before the command arrives.
            try await world.service.state.wait(for: "an acknowledgement") { [acknowledged] in
                $0.acknowledgedCommands == acknowledged
            }
        }
        #expect(
            delegate.heard.dropFirst(2) == [
                "resign active", "background", "foreground", "active", "resign active", "active",
            ])
        application.enterBackground()
        #expect(application.applicationState == .background)
        try await world.service.state.wait(for: "its report") { $0.states == [.active, .background] }
    }

    /// The service stays too slow for longer than the library retries any request. The channel remains the same.
    @Test func `L1 L2: The library sends delayed reports when a slow service responds again`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        application.launch(environment: [:])
        try await world.service.state.wait(for: "its report") { $0.states == [.active] }
        let task = application.beginBackgroundTask(withName: "task")
        let lines = ["POST /v1/process/acknowledge", "POST /v1/process/state", "DELETE /v1/process/background-tasks/1"]
        world.service.state.update { state in
            for line in lines { state.refusals[line] = .unavailable("It is busy.") }
            // The library gives up the first report, and all reports together.
            state.gates["GET /v1/status"] = Gate()
        }
        world.service.command(command(1, .enter) { $0.state = .inactive })
        application.endBackgroundTask(task)
        try await world.service.state.wait(within: .seconds(90), for: "a look whether it answers") {
            $0.log.contains("GET /v1/status")
        }
        application.enterBackground()
        try await world.service.state.wait(within: .seconds(90), for: "the report that is given up after it") {
            $0.log.last == "POST /v1/process/state"
        }
        world.service.state.update { state in
            #expect(state.acknowledgedCommands == [] && state.backgroundTasks == [1: "task"])
            state.refusals = [:]
            state.gates["GET /v1/status"]?.open()
        }
        try await world.service.state.wait(within: .seconds(90), for: "all of it") {
            $0.acknowledgedCommands == [1] && $0.backgroundTasks == [:] && $0.states == [.active, .background]
        }
        #expect(world.service.state.read { $0.channels.count } == 1)
    }

    /// A late report of the app's earlier state would take the app out of the foreground.
    @Test func `L1: A late report of a state is not sent after a command to enter another state`()
        async throws
    {
        let (world, status) = (try World(), Gate())
        let connection = world.process().connection
        let application = Application(connection: connection)
        application.launch(environment: [:])
        try await world.service.state.wait(for: "its report") { $0.states == [.active] }
        let (report, cancellation) = ("POST /v1/process/state", "DELETE /v1/process/scheduled-tasks/task")
        world.service.state.update { state in
            for line in [report, cancellation] { state.refusals[line] = .unavailable("It is busy.") }
            state.gates["GET /v1/status"] = status
        }
        // This request is sent after the report of the state, when the service responds again.
        Thread.detachNewThread {
            BGTaskScheduler(connection: connection).cancel(taskRequestWithIdentifier: "task")
        }
        try await world.service.state.wait(for: "a look whether it answers") { $0.log.contains("GET /v1/status") }
        application.enterBackground()
        try await world.service.state.wait(for: "the report") { $0.log.count { $0 == report } > 1 }
        world.service.command(command(1, .enter) { $0.state = .active })
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(application.applicationState == .active)
        world.service.state.update { $0.refusals = [:] }
        status.open()
        try await world.service.state.wait(for: "the cancellation") { $0.done.contains(cancellation) }
        world.service.command(command(2, .enter) { $0.state = .inactive })
        try await world.service.state.wait(for: "the later command") { $0.acknowledgedCommands == [1, 2] }
        #expect(world.service.state.read { $0.states } == [.active])
    }

    /// The first acknowledgement is sent to a service that is ending. It fails after the command of the next service
    /// has arrived.
    @Test func `L1: The library acknowledges a command again that the service sends on another channel`()
        async throws
    {
        let (world, gate, line) = (try World(), Gate(), "POST /v1/process/acknowledge")
        let application = Application(connection: world.process().connection)
        let delegate = AppDelegate()
        application.delegate = delegate
        application.launch(environment: [:])
        try await world.service.state.wait(for: "its report") { $0.states == [.active] }
        world.service.state.update { state in
            state.gates[line] = gate
            state.refusals[line] = .unavailable("It is about to end.")
        }
        let first = command(1, .enter) { $0.state = .inactive }
        world.service.command(first)
        try await world.service.state.wait(for: "the acknowledgement") { $0.open[line] == 1 }
        world.service.state.update { ($0.gates, $0.refusals) = ([:], [:]) }
        world.service.breakStreams()
        try await world.service.state.wait(for: "another channel") { $0.channels.count == 1 }
        world.service.command(first)
        world.service.command(command(2, .enter) { $0.state = .active })
        try await eventually("both commands") {
            delegate.heard.suffix(2) == ["resign active", "active"]
        }
        gate.open()
        try await world.service.state.wait(for: "both acknowledgements") { Set($0.acknowledgedCommands) == [1, 2] }
    }

    @Test func `T7: A background launch handles a session's events without making the app active`() async throws {
        let world = try World()
        let early = world.process()
        early.session(Recorder()).downloadTask(with: url()).resume()
        early.die()
        let message = try world.service.end(1)
        world.service.state.update { state in
            state.hello.isManaged = true
            state.hello.state = .background
        }
        let process = world.process()
        let (application, delegate) = launched(
            process, ["NIGHTSHIFT_APP": "org.example.app", "NIGHTSHIFT_LAUNCH": "background"])
        defer { withExtendedLifetime(application) {} }
        #expect(delegate.heard == ["launched, background: true"])
        #expect(application.applicationState == .background)
        let wake = command(1, .handleEvents) { command in
            command.session = "org.example.photos"
            command.through = message
        }
        try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
        world.service.command(wake)
        try await delegate.recorder.heard.wait(for: "the events' end") { $0.last == "finished events" }
        #expect(
            delegate.recorder.heard.read { $0 } == ["1 finished 'content'", "1 completed", "finished events"])
        #expect(world.service.state.read { $0.acknowledgedCommands } == [])
        // The app must not handle the same command again on another connection.
        world.service.command(wake)
        let completion = try #require(delegate.completions.first)
        completion()
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands.contains(1) }
        #expect(delegate.heard == ["launched, background: true", "handle org.example.photos"])
        world.service.command(command(2, .snapshot))
        try await world.service.state.wait(for: "the snapshot") { $0.acknowledgedCommands.last == 2 }
        #expect(world.service.state.read { $0.snapshot } == Data("PNG".utf8))
    }

    /// Each instance of the service numbers its commands from the beginning.
    @Test func `L1: An acknowledgement to an ended service completes no command of the next service`()
        async throws
    {
        let acknowledge = "POST /v1/process/acknowledge"
        let world = try World()
        let process = world.process()
        let application = Application(connection: process.connection)
        application.launch(environment: [:])
        try await world.service.state.wait(for: "its report") { $0.states == [.active] }
        let gate = Gate()
        world.service.state.update { state in
            state.gates[acknowledge] = gate
            state.unanswered[acknowledge] = 1
        }
        world.service.command(command(1, .enter) { $0.state = .inactive })
        try await world.service.state.wait(for: "the acknowledgement") { $0.open[acknowledge] == 1 }
        world.service.breakStreams()
        try await world.service.state.wait(for: "the next channel") { !$0.channels.isEmpty }
        gate.open()
        try await world.service.state.wait(for: "the answer") { $0.open[acknowledge] == 0 }
        world.service.state.update { $0.acknowledgedCommands = [] }
        world.service.command(command(7, .snapshot))
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledgedCommands.contains(7) }
        #expect(world.service.state.read { $0.acknowledgedCommands } == [7])
    }

    @Test func `L1: A refusal on an old channel does not close a newer channel before its greeting`()
        async throws
    {
        let world = try World()
        let connection = world.process().connection
        let old = try connection.openChannel(until: .now + .seconds(60))
        let gate = Gate()
        world.service.state.update { $0.helloGate = gate }
        world.service.breakStreams()
        let openings: @Sendable (ScriptedService.State) -> Int = { state in
            state.log.count { $0 == "GET /v1/process/commands" }
        }
        try await world.service.state.wait(for: "the next channel") { openings($0) == 2 }
        // A caller that has used the old channel is notified late that the service no longer knows the channel.
        connection.dropChannel(old)
        gate.open()
        let next = try connection.openChannel(until: .now + .seconds(60))
        #expect(next.channel != old.channel)
        #expect(world.service.state.read(openings) == 2)
    }

    @Test func `T7: The delegate learns that session events are finished only after the last message`() async throws {
        let world = try World()
        let process = world.process()
        let (application, delegate) = launched(process)
        defer { withExtendedLifetime(application) {} }
        let session = process.session(delegate.recorder)
        session.downloadTask(with: url()).resume()
        session.downloadTask(with: url()).resume()
        // The command arrives before the messages.
        world.service.command(
            command(1, .handleEvents) { command in
                command.session = "org.example.photos"
                command.through = 2
            })
        try await eventually("the app was told") { delegate.completions.count == 1 }
        try world.service.end(1)
        try await delegate.recorder.heard.wait(for: "the first end") { $0.last == "1 completed" }
        try world.service.end(2)
        try await delegate.recorder.heard.wait(for: "the events' end") { $0.last == "finished events" }
        #expect(delegate.recorder.heard.read { $0.filter { $0 == "finished events" }.count } == 1)
        #expect(delegate.recorder.heard.read { $0.dropLast().last } == "2 completed")
    }

    @Test func `T7: The library delivers early commands after the app's launch`() async throws {
        let world = try World()
        let process = world.process()
        // Commands arrive before the launch if a delegate makes a session, or registers a task, in a property.
        _ = try process.connection.openChannel(until: .now + .seconds(20))
        world.service.command(
            command(1, .handleEvents) { command in
                command.session = "org.example.photos"
                command.through = 1
            })
        world.service.command(command(2, .enter) { $0.state = .active })
        // The snapshot command is handled after the others, and is acknowledged at once if there is no app.
        world.service.command(command(3, .snapshot))
        try await world.service.state.wait(for: "the last command") { $0.acknowledgedCommands.contains(3) }
        let (application, delegate) = launched(process, ["NIGHTSHIFT_LAUNCH": "background"])
        defer { withExtendedLifetime(application) {} }
        try await eventually("the app was told") { delegate.completions.count == 1 }
        try await eventually("its state") { application.applicationState == .active }
        #expect(delegate.heard.contains("handle org.example.photos"))
        withExtendedLifetime(process) {}
    }

    @Test func `T7: The delegate learns that events are finished before the session becomes invalid`() async throws {
        let world = try World()
        let process = world.process()
        let (application, delegate) = launched(process)
        defer { withExtendedLifetime(application) {} }
        let session = process.session(delegate.recorder)
        session.downloadTask(with: url()).resume()
        session.finishTasksAndInvalidate()
        world.service.command(
            command(1, .handleEvents) { command in
                command.session = "org.example.photos"
                command.through = 1
            })
        try await eventually("the app was told") { delegate.completions.count == 1 }
        try world.service.end(1)
        try await delegate.recorder.heard.wait(for: "the session's end") { $0.last == "invalid" }
        #expect(delegate.recorder.heard.read { $0.suffix(3) } == ["1 completed", "finished events", "invalid"])
    }

    @Test func `T7: A wake of an app without an events handler ends after the session's last message`() async throws {
        let world = try World()
        let process = world.process()
        let application = Application(connection: process.connection)
        application.delegate = PlainDelegate()
        application.launch(environment: [:])
        let recorder = Recorder()
        process.session(recorder).downloadTask(with: url()).resume()
        let message = try world.service.end(1)
        world.service.command(
            command(1, .handleEvents) { command in
                command.session = "org.example.photos"
                command.through = message
            })
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(recorder.heard.read { $0.last } == "finished events")
    }

    @Test func `T11: A wake ends even if no delegate can be notified that its events are finished`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            let process = world.process()
            let application = Application(connection: process.connection)
            let delegate = AppDelegate()
            let ends = Watched(0)
            await MainActor.run {
                application.delegate = delegate
                application.launch(environment: [:])
            }
            let session = process.session(DeafDelegate { ends.update { $0 += 1 } })
            for number: Int64 in 1...2 {
                session.downloadTask(with: url()).resume()
                var command = ProcessCommand(number: number, action: .handleEvents)
                command.session = "org.example.photos"
                command.through = try world.service.end(number)
                world.service.command(command)
                // The app never calls the completion handler that it received.
                try await world.service.state.wait(for: "the acknowledgement") {
                    $0.acknowledgedCommands == Array(1...number)
                }
                try #require(ends.read { $0 } == Int(number))
            }
            // These calls are too late, and the library must still print the advice only once.
            await MainActor.run { for completion in delegate.completions { completion() } }
            var command = ProcessCommand(number: 3, action: .enter)
            command.state = .background
            world.service.command(command)
            try await world.service.state.wait(for: "the later command") { $0.acknowledgedCommands.contains(3) }
            try #require(world.service.state.read { $0.acknowledgedCommands } == [1, 2, 3])
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            said.components(separatedBy: "extension DeafDelegate: URLSessionBackgroundDelegate {}").count == 2,
            "\(said)")
    }

    @Test func `T11: The library completes a wake without a delegate method at once, each time`()
        async throws
    {
        let world = try World()
        let process = world.process()
        let application = Application(connection: process.connection)
        application.launch(environment: [:])
        try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
        let wake = command(1, .handleWake) { command in
            command.source = .region
            command.key = "home"
        }
        world.service.command(wake)
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        world.service.command(wake)
        try await world.service.state.wait(for: "it once more") { $0.acknowledgedCommands == [1, 1] }
    }

    @Test func `L1: The library sends never-resumed tasks before the service may stop the app`()
        async throws
    {
        let world = try World()
        let process = world.process()
        let application = Application(connection: process.connection)
        application.launch(environment: [:])
        _ = process.session(Recorder()).downloadTask(with: url())
        world.service.command(command(1, .enter) { $0.state = .background })
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(world.service.state.read { $0.requests[1]?.request.suspended } == true)
    }
}

@MainActor private final class AppDelegate: ApplicationDelegate {
    var heard: [String] = []
    var completions: [@Sendable () -> Void] = []
    let recorder = Recorder()
    var process: AppProcess?

    nonisolated init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        heard.append("launched, background: \(launchOptions?[.isBackgroundLaunch] as? Bool ?? false)")
        return true
    }

    func applicationDidBecomeActive(_ application: Application) { heard.append("active") }

    func applicationWillResignActive(_ application: Application) { heard.append("resign active") }

    func applicationDidEnterBackground(_ application: Application) { heard.append("background") }

    func applicationWillEnterForeground(_ application: Application) { heard.append("foreground") }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        dispatchPrecondition(condition: .onQueue(.main))
        heard.append("handle \(identifier)")
        completions.append(completionHandler)
        _ = process?.session(recorder, identifier: identifier)
    }

    func applicationSnapshot(_ application: Application) -> Data? { Data("PNG".utf8) }
}

private final class PlainDelegate: ApplicationDelegate {}

/// A session's delegate from an iOS app. It has the method, but not the conformance.
private final class DeafDelegate: NSObject, URLSessionDownloadDelegate, Sendable {
    let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        onEnd()
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}
