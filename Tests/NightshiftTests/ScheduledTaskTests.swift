import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

private let refresh = "org.example.app.refresh"
private let cleaning = "org.example.app.cleaning"
private let export = "org.example.app.export.film"

/// The applications that must exist until their process ends. Nothing else retains them.
@MainActor private var kept: [Application] = []

/// Tests of running tasks: their handlers, expiration and completion (row R10).
@Suite struct ScheduledTaskTests {
    /// An app whose desktop entry declares all task identifiers of these tests.
    private final class App: Sendable {
        let world: World
        let connection: ServiceConnection
        let scheduler: BGTaskScheduler
        let heard = Watched<[String]>([])
        let tasks = Watched<[BGTask]>([])

        init() throws {
            world = try World()
            world.service.install(tasks: [refresh, cleaning, "org.example.app.export.*"])
            connection = world.process().connection
            scheduler = BGTaskScheduler(connection: connection)
        }

        var service: ScriptedService { world.service }

        /// Registers a handler that keeps its task, and records the task's class.
        func register(_ identifier: String, on queue: DispatchQueue? = nil) {
            scheduler.register(forTaskWithIdentifier: identifier, using: queue) { [heard, tasks] task in
                if let queue { dispatchPrecondition(condition: .onQueue(queue)) }
                heard.update { $0.append("\(type(of: task)) \(task.identifier)") }
                tasks.update { $0.append(task) }
            }
        }

        @MainActor func launch() {
            let application = Application(connection: connection)
            application.launch(environment: [:])
            kept.append(application)
        }

        func connect() async throws {
            try await service.state.wait(for: "the channel") { !$0.channels.isEmpty }
        }

        /// Returns the task that the handler got in its `count`th call.
        func task(_ count: Int = 1) async throws -> BGTask {
            try await tasks.wait(for: "task \(count)") { $0.count >= count }
            return try #require(tasks.read { $0.dropFirst(count - 1).first })
        }

        func result(of command: Int64, is result: RefreshResult) async throws {
            try await service.state.wait(for: "the end of \(command)") { $0.results[command] == result }
        }
    }

    // MARK: - Launch handlers

    @Test func `R10: A task has the class of its request, and runs on the queue given at registration`() async throws {
        let app = try App()
        let queue = DispatchQueue(label: "tasks")
        app.register(refresh)
        app.register(cleaning, on: queue)
        app.register(export, on: .main)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .fetch, refresh)
        app.service.wake(2, .processing, cleaning)
        app.service.wake(3, .continued, export)
        try await app.heard.wait(for: "the tasks") { heard in
            heard.sorted() == [
                "BGAppRefreshTask \(refresh)", "BGContinuedProcessingTask \(export)", "BGProcessingTask \(cleaning)",
            ]
        }
        #expect(app.service.state.read { $0.acknowledgedCommands } == [])
    }

    @Test(arguments: [(true, RefreshResult.newData), (false, .failed)])
    func `R10: A task ends once, and its end reports its success`(_ success: Bool, _ result: RefreshResult) async throws
    {
        let app = try App()
        app.register(refresh)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .fetch, refresh)
        let task = try await app.task()
        task.expirationHandler = {}
        task.setTaskCompleted(success: success)
        task.setTaskCompleted(success: !success)
        #expect(task.expirationHandler == nil)
        try await app.result(of: 1, is: result)
        app.service.expire(2, .fetch, refresh, wake: 1)
        try await app.service.state.wait(for: "the later command") { $0.acknowledgedCommands.contains(2) }
        #expect(app.service.state.read { $0.acknowledgedCommands } == [1, 2])
    }

    @Test func `R10: A handler can submit the next request`() async throws {
        let app = try App()
        app.scheduler.register(forTaskWithIdentifier: refresh, using: nil) { [scheduler = app.scheduler] task in
            do {
                try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
                task.setTaskCompleted(success: true)
            } catch {
                task.setTaskCompleted(success: false)
            }
        }
        await app.launch()
        try await app.connect()
        for number: Int64 in 1...3 {
            app.service.wake(number, .fetch, refresh)
            try await app.result(of: number, is: .newData)
        }
        #expect(app.service.state.read { $0.refresh.submitted.count } == 3)
    }

    @Test func `R10: A task that the service sends again after a lost connection begins only once`() async throws {
        let app = try App()
        app.register(refresh)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .fetch, refresh, wake: 9)
        let task = try await app.task()
        app.service.breakStreams()
        try await app.connect()
        app.service.wake(4, .fetch, refresh, wake: 9)
        var behind = ProcessCommand(number: 5, action: .enter)
        behind.state = .inactive
        app.service.command(behind)
        try await app.service.state.wait(for: "the later command") { $0.acknowledgedCommands == [5] }
        task.setTaskCompleted(success: true)
        try await app.result(of: 4, is: .newData)
        #expect(app.heard.read { $0.count } == 1)
    }

    @Test func `R10: The library acknowledges only the latest of the commands for a long task`()
        async throws
    {
        let app = try App()
        app.register(export)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .continued, export, wake: 9)
        let task = try await app.task()
        for number: Int64 in 2...100 { app.service.wake(number, .region, "home") }
        try await app.service.state.wait(for: "the others") { $0.acknowledgedCommands.count == 99 }
        app.service.breakStreams()
        try await app.connect()
        app.service.state.update { $0.acknowledgedCommands = [] }
        app.service.wake(7, .continued, export, wake: 9)
        var behind = ProcessCommand(number: 8, action: .enter)
        behind.state = .inactive
        app.service.command(behind)
        try await app.service.state.wait(for: "the later command") { $0.acknowledgedCommands == [8] }
        task.setTaskCompleted(success: true)
        try await app.result(of: 7, is: .newData)
        app.service.wake(10, .region, "home")
        try await app.service.state.wait(for: "the last") { $0.acknowledgedCommands.contains(10) }
        #expect(app.service.state.read { $0.acknowledgedCommands } == [8, 7, 10])
    }

    @Test func `R10: One launch can run several tasks that end separately`() async throws {
        let app = try App()
        app.register(refresh)
        app.register(cleaning)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .fetch, refresh)
        let first = try await app.task(1)
        app.service.wake(2, .processing, cleaning)
        let second = try await app.task(2)
        second.setTaskCompleted(success: true)
        try await app.result(of: 2, is: .newData)
        #expect(app.service.state.read { $0.results[1] } == nil)
        first.setTaskCompleted(success: false)
        try await app.result(of: 1, is: .failed)
    }

    @Test func `R10: A handler for a prefix runs tasks that have no handler of their own`() async throws {
        let app = try App()
        app.register("org.example.app.export.*")
        await app.launch()
        try await app.connect()
        app.service.wake(1, .continued, export)
        _ = try await app.task()
        #expect(app.heard.read { $0 } == ["BGContinuedProcessingTask \(export)"])
    }

    // MARK: - The launch

    /// The main thread executes no requests before the app is launched, so this test has no suspension point before the
    /// launch.
    @Test @MainActor func `R10: A task that arrives during the launch waits until the launch has ended`() async throws {
        let app = try App()
        app.register(refresh)
        app.service.wake(1, .fetch, refresh)
        var behind = ProcessCommand(number: 2, action: .enter)
        behind.state = .background
        app.service.command(behind)
        #expect(app.service.state.block { $0.acknowledgedCommands == [2] })
        #expect(app.heard.read { $0 } == [])
        app.launch()
        app.heard.update { $0.append("launched") }
        _ = try await app.task()
        #expect(app.heard.read { $0 } == ["launched", "BGAppRefreshTask \(refresh)"])
    }

    @Test func `R10: A task without a handler waits during the launch, and fails afterwards`() async throws {
        let app = try App()
        try app.connection.openChannel(until: .now + .seconds(60))
        // The program executes requests on its main thread without being launched as an application.
        app.service.wake(1, .fetch, refresh)
        app.register(refresh)
        _ = try await app.task()
        app.service.wake(2, .processing, cleaning)
        app.service.wake(3, .region, "home")
        try await app.service.state.wait(for: "the later command") { $0.acknowledgedCommands == [3] }
        await app.launch()
        try await app.result(of: 2, is: .failed)
        app.service.wake(4, .processing, cleaning)
        try await app.result(of: 4, is: .failed)
        #expect(app.service.state.read { $0.results[1] } == nil)
    }

    // MARK: - Expiration

    @Test func `R10: The expiration handler runs once, and the app can still complete the task`()
        async throws
    {
        let app = try App()
        app.register(refresh, on: DispatchQueue(label: "tasks"))
        await app.launch()
        try await app.connect()
        app.service.wake(1, .fetch, refresh)
        let task = try await app.task()
        let (calls, gate) = (Watched(0), Gate())
        task.expirationHandler = {
            calls.update { $0 += 1 }
            _ = gate.block(until: .now + .seconds(60))
        }
        app.service.expire(2, .fetch, refresh, wake: 1)
        try await calls.wait(for: "the handler") { $0 == 1 }
        #expect(task.expirationHandler == nil)
        // The library acknowledges the expiration when the handler has returned.
        #expect(app.service.state.read { $0.acknowledgedCommands } == [])
        gate.open()
        try await app.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [2] }
        // The service repeats the expiration with the same command, and a restarted service repeats it with its own.
        task.expirationHandler = { calls.update { $0 += 1 } }
        app.service.expire(2, .fetch, refresh, wake: 1)
        app.service.expire(3, .fetch, refresh, wake: 1)
        try await app.service.state.wait(for: "both") { $0.acknowledgedCommands.sorted() == [2, 2, 3] }
        #expect(calls.read { $0 } == 1)
        #expect(app.service.state.read { $0.results[1] } == nil)
        task.setTaskCompleted(success: true)
        try await app.result(of: 1, is: .newData)
    }

    /// The test has no suspension point before the expiration.
    @Test @MainActor func `R10: A task that expires before the main thread handles it does not begin`() async throws {
        let app = try App()
        app.register(cleaning)
        app.launch()
        #expect(app.service.state.block { !$0.channels.isEmpty })
        app.service.wake(1, .processing, cleaning)
        app.service.expire(2, .processing, cleaning, wake: 1)
        #expect(app.service.state.block { $0.acknowledgedCommands.contains(2) })
        try await app.result(of: 1, is: .failed)
        #expect(app.heard.read { $0 } == [])
    }

    @Test func `R10: An expiring task without an expiration handler ends as unsuccessful`() async throws {
        let app = try App()
        app.register(cleaning)
        await app.launch()
        try await app.connect()
        app.service.wake(1, .processing, cleaning)
        let task = try await app.task()
        app.service.expire(2, .processing, cleaning, wake: 1)
        try await app.result(of: 1, is: .failed)
        task.setTaskCompleted(success: true)
        try await app.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands.contains(2) }
        #expect(app.service.state.read { $0.results[1] } == .failed)
    }

    @Test func `R10: An expiration handler can run while the launch handler still runs`() async throws {
        let app = try App()
        let queue = DispatchQueue(label: "tasks")
        let (begun, gate) = (Watched(false), Gate())
        app.scheduler.register(forTaskWithIdentifier: cleaning, using: queue) { task in
            task.expirationHandler = { gate.open() }
            begun.update { $0 = true }
            task.setTaskCompleted(success: gate.block(until: .now + .seconds(60)))
        }
        await app.launch()
        try await app.connect()
        app.service.wake(1, .processing, cleaning)
        try await begun.wait(for: "the handler") { $0 }
        app.service.expire(2, .processing, cleaning, wake: 1)
        try await app.result(of: 1, is: .newData)
    }

    @Test func `R10: An expiration affects only its own task`() async throws {
        let app = try App()
        app.register(refresh)
        app.register(cleaning)
        await app.launch()
        try await app.connect()
        let expired = Watched<[String]>([])
        for (number, source, identifier) in [(1, WakeSource.fetch, refresh), (2, .processing, cleaning)] {
            app.service.wake(Int64(number), source, identifier)
            let task = try await app.task(number)
            task.expirationHandler = { expired.update { $0.append(identifier) } }
        }
        app.service.expire(3, .processing, cleaning, wake: 2)
        app.service.expire(4, .fetch, refresh, wake: 99)
        try await app.service.state.wait(for: "both") { Set($0.acknowledgedCommands) == [3, 4] }
        #expect(expired.read { $0 } == [cleaning])
    }

    // MARK: - Continued tasks

    private func continued(_ app: App) async throws -> BGContinuedProcessingTask {
        app.register(export)
        await app.launch()
        try await app.connect()
        var request = ScheduledTask(identifier: export, kind: .continued)
        request.title = "Export"
        request.subtitle = "Film"
        app.service.wake(1, .continued, export, payload: try JSON.encode(request))
        return try #require(try await app.task() as? BGContinuedProcessingTask)
    }

    @Test func `R10: The library sends changes of a continued task's title, subtitle and progress`() async throws {
        let app = try App()
        let task = try await continued(app)
        #expect(task.title == "Export" && task.subtitle == "Film")
        task.progress.totalUnitCount = 200
        task.progress.completedUnitCount = 50
        try await app.service.state.wait(for: "progress") { state in
            state.refresh.progress.last
                == ScheduledTaskProgress(title: "Export", subtitle: "Film", completedUnits: 50, totalUnits: 200)
        }
        task.updateTitle("Export", subtitle: "Half a film")
        task.progress.completedUnitCount = 100
        try await app.service.state.wait(for: "the rest") { state in
            state.refresh.progress.last?.completedUnits == 100 && state.refresh.progress.last?.subtitle == "Half a film"
        }
        #expect(task.subtitle == "Half a film")
        task.setTaskCompleted(success: true)
        try await app.result(of: 1, is: .newData)
    }

    @Test func `R10: The library sends frequent progress at most four times a second, and the last value`()
        async throws
    {
        let app = try App()
        let task = try await continued(app)
        let start = ContinuousClock.now
        task.progress.totalUnitCount = 100_000
        for count in 1...100_000 as ClosedRange<Int64> { task.progress.completedUnitCount = count }
        try await app.service.state.wait(for: "the last value") { $0.refresh.progress.last?.completedUnits == 100_000 }
        let quarters = Int(saturating: (ContinuousClock.now - start) / .milliseconds(250))
        #expect(app.service.state.read { $0.refresh.progress.count } <= quarters + 2)
        task.setTaskCompleted(success: true)
    }

    @Test func `R10: The library sends the last progress when a slow service responds again`() async throws {
        let app = try App()
        let task = try await continued(app)
        task.progress.totalUnitCount = 10
        try await app.service.state.wait(for: "progress") { $0.refresh.progress.last?.totalUnits == 10 }
        let line = try #require(app.service.state.read { state in state.log.last { $0.hasPrefix("PATCH") } })
        let gate = Gate()
        app.service.state.update { state in
            state.refusals[line] = .unavailable("It is busy.")
            state.gates["GET /v1/status"] = gate
        }
        task.progress.completedUnitCount = 10
        try await app.service.state.wait(for: "a look whether it answers") { $0.log.contains("GET /v1/status") }
        app.service.state.update { $0.refusals = [:] }
        gate.open()
        try await app.service.state.wait(for: "the last value") { $0.refresh.progress.last?.completedUnits == 10 }
        task.setTaskCompleted(success: true)
        try await app.result(of: 1, is: .newData)
    }

    @Test func `R10: Parts of the work may have their own progress objects`() async throws {
        let app = try App()
        let task = try await continued(app)
        task.progress.totalUnitCount = 10
        let part = Progress(totalUnitCount: 4)
        task.progress.addChild(part, withPendingUnitCount: 10)
        part.completedUnitCount = 2
        try await app.service.state.wait(for: "half of it") { $0.refresh.progress.last?.completedUnits == 5 }
        part.completedUnitCount = 4
        try await app.service.state.wait(for: "all of it") { $0.refresh.progress.last?.completedUnits == 10 }
        task.setTaskCompleted(success: true)
        try await app.result(of: 1, is: .newData)
    }

    @Test func `R10: A continued task that the user cancels calls its expiration handler`() async throws {
        let app = try App()
        let task = try await continued(app)
        task.expirationHandler = { task.setTaskCompleted(success: false) }
        app.service.expire(2, .continued, export, wake: 1)
        try await app.result(of: 1, is: .failed)
    }
}
