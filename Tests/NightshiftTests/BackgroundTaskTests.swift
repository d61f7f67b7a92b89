import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

private let path = "/v1/process/background-tasks"

/// Tests of background tasks, as the service and the app see them (row L2).
@Suite struct BackgroundTaskTests {
    @Test func `L2: A task begins with the service's answer, and reports its end asynchronously`()
        async throws
    {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let first = application.beginBackgroundTask(withName: "sync")
        #expect(world.service.state.read { $0.backgroundTasks } == [1: "sync"])
        let second = application.beginBackgroundTask {}
        let third = application.beginBackgroundTask(withName: nil)
        #expect([first, second, third].map(\.rawValue) == [1, 2, 3])
        let caller = #function
        #expect(world.service.state.read { $0.backgroundTasks } == [1: "sync", 2: caller, 3: caller])
        for task in [third, first, .invalid, first, BackgroundTaskIdentifier(rawValue: 99), second] {
            application.endBackgroundTask(task)
        }
        try await world.service.state.wait(for: "the ends") { $0.backgroundTasks.isEmpty }
        let ends = world.service.state.read { $0.log.filter { $0.hasPrefix("DELETE") } }
        #expect(ends == [3, 1, 2].map { "DELETE \(path)/\($0)" })
        #expect(application.backgroundTaskRefusal == nil)
    }

    @Test(arguments: [
        Problem.noBackgroundTime("It is over."), .invalid("The name is too long."), .tooMany("1000 are open."),
    ])
    func `L2: An app gets an invalid task and the reason if the service refuses the task`(_ problem: Problem)
        async throws
    {
        let world = try World()
        let application = Application(connection: world.process().connection)
        world.service.state.update { $0.refusals["POST \(path)"] = problem }
        let calls = Watched(0)
        let refused = application.beginBackgroundTask(withName: "a") { calls.update { $0 += 1 } }
        #expect(refused == .invalid && refused.rawValue == 0)
        #expect(application.backgroundTaskRefusal == problem.detail)
        world.service.state.update { $0.refusals = [:] }
        let granted = application.beginBackgroundTask(withName: "b")
        #expect(granted != .invalid)
        application.endBackgroundTask(refused)
        world.service.command(ProcessCommand(number: 1, action: .expire))
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(calls.read { $0 } == 0)
        #expect(world.service.state.read { $0.backgroundTasks } == [2: "b"])
    }

    @Test func `L2: Eight threads can begin and end two hundred tasks`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let begun = Watched<[BackgroundTaskIdentifier]>([])
        for thread in 0..<8 {
            Thread.detachNewThread {
                for task in 0..<25 {
                    let identifier = application.beginBackgroundTask(withName: "\(thread) \(task)")
                    begun.update { $0.append(identifier) }
                }
            }
        }
        try await begun.wait(for: "all tasks") { $0.count == 200 }
        let tasks = begun.read { $0 }
        #expect(Set(tasks).count == 200 && !tasks.contains(.invalid))
        #expect(world.service.state.read { Set($0.backgroundTasks.values).count } == 200)
        for share in 0..<8 {
            Thread.detachNewThread {
                for index in 0..<25 { application.endBackgroundTask(tasks[share * 25 + index]) }
            }
        }
        try await world.service.state.wait(for: "the ends") { $0.backgroundTasks.isEmpty }
        #expect(world.service.state.read { $0.backgroundTasksBegun.count } == 200)
    }

    @Test func `L2: A request that is repeated after a lost answer does not create a second task`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        world.service.state.update { $0.unanswered["POST \(path)"] = 2 }
        #expect(application.beginBackgroundTask(withName: "a") != .invalid)
        #expect(world.service.state.read { $0.backgroundTasksBegun.map(\.number) } == [1, 1, 1])
    }

    /// An object with a background task, which it ends when it is released.
    private final class Ending: Sendable {
        let application: Application
        let isGone = Watched(false)

        init(_ application: Application) { self.application = application }

        deinit {
            application.endBackgroundTask(.invalid)
            isGone.update { $0 = true }
        }
    }

    private static func begin(_ application: Application) -> (BackgroundTaskIdentifier, isGone: Watched<Bool>) {
        let ending = Ending(application)
        let isGone = ending.isGone
        return (application.beginBackgroundTask(withName: "a") { withExtendedLifetime(ending) {} }, isGone)
    }

    @Test func `L2: An object that only a task's handler retains may end tasks during its release`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let application = Application(connection: world.process().connection)
            let (task, isGone) = BackgroundTaskTests.begin(application)
            try #require(task != .invalid)
            application.endBackgroundTask(task)
            try await isGone.wait(for: "the end of what it held") { $0 }
            world.service.state.update { $0.refusals["POST /v1/process/background-tasks"] = .invalid("No.") }
            let (refused, isRefusedGone) = BackgroundTaskTests.begin(application)
            try #require(refused == .invalid)
            try await isRefusedGone.wait(for: "the end of the other") { $0 }
        }
    }

    // MARK: - Without the service

    /// Expects that the open tasks were reported before the end. The library may repeat a report whose answer took
    /// long.
    private func expectTold(_ count: Int, before end: String, _ world: World) {
        let done = world.service.state.read { $0.done }
        #expect(done.last == end && done.count > count, "\(done)")
        #expect(done.dropLast().allSatisfy { $0 == "POST \(path)" }, "\(done)")
    }

    @Test func `L2: When the service is back, the library first reports the open tasks`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let tasks = (1...4).map { application.beginBackgroundTask(withName: "\($0)") }
        application.endBackgroundTask(tasks[0])
        try await world.service.state.wait(for: "an end") { $0.backgroundTasks[1] == nil }
        world.service.stop()
        application.endBackgroundTask(tasks[2])
        world.service.state.update { state in
            state.backgroundTasks = [:]
            state.log = []
        }
        world.service.state.update { $0.done = [] }
        try world.service.start()
        try await world.service.state.wait(for: "the end") { $0.done.last == "DELETE \(path)/3" }
        expectTold(2, before: "DELETE \(path)/3", world)
        #expect(world.service.state.read { $0.backgroundTasks } == [2: "2", 4: "4"])
    }

    /// The library is sending the end of a task when the service restarts. The request arrives before the channel, the
    /// service handles it once the channel is open, and only then does the library report the open tasks.
    @Test func `L2: A restarted service handles earlier requests only after it knows the open tasks`()
        async throws
    {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let tasks = (1...3).map { application.beginBackgroundTask(withName: "\($0)") }
        let (end, beginnings) = (Gate(), Gate())
        let channels = world.service.state.update { state in
            state.gates = ["DELETE \(path)/2": end, "POST \(path)": beginnings]
            (state.backgroundTasks, state.log, state.done) = ([:], [], [])
            defer { state.channels = [] }
            return state.channels
        }
        application.endBackgroundTask(tasks[1])
        // A report of a beginning whose answer took long may arrive again before the end.
        try await world.service.state.wait(for: "the end") { $0.log.contains("DELETE \(path)/2") }
        let before = world.service.state.update { state in
            defer { for channel in channels { channel.close() } }
            return state.log.count
        }
        try await world.service.state.wait(for: "the first task") { $0.log[before...].contains("POST \(path)") }
        end.open()
        // The service answers the report of the end, with success or not.
        try await eventually("the end is answered") {
            world.service.state.read { $0.open["DELETE \(path)/2"] == 0 }
        }
        beginnings.open()
        try await world.service.state.wait(for: "all of it") { $0.done.last == "DELETE \(path)/2" }
        expectTold(2, before: "DELETE \(path)/2", world)
        #expect(world.service.state.read { $0.backgroundTasks } == [1: "1", 3: "3"])
    }

    @Test func `L2: Without a service, the library begins tasks in the foreground and reports them later`()
        async throws
    {
        let world = try World()
        world.service.stop()
        let application = Application(connection: world.process().connection)
        let start = ContinuousClock.now
        let first = application.beginBackgroundTask(withName: "a")
        let middle = ContinuousClock.now
        let second = application.beginBackgroundTask(withName: "b")
        #expect(first != .invalid && second != .invalid)
        #expect(ContinuousClock.now - middle < middle - start, "The second one does not wait again.")
        application.endBackgroundTask(first)
        try world.service.start()
        try await world.service.state.wait(for: "the task") { $0.backgroundTasks == [2: "b"] }
        #expect(application.beginBackgroundTask(withName: "c").rawValue == 3)
    }

    /// The service is busy for longer than the library waits for the beginning of a task. The channel remains the same.
    @Test func `L2: The library reports a task and its end when a slow service responds again`()
        async throws
    {
        let world = try World()
        let application = Application(connection: world.process().connection)
        _ = application.beginBackgroundTask(withName: "before")
        world.service.state.update { $0.refusals["POST \(path)"] = .unavailable("It is busy.") }
        let tasks = ["a", "b"].map { application.beginBackgroundTask(withName: $0) }
        #expect(!tasks.contains(.invalid) && world.service.state.read { $0.backgroundTasks } == [1: "before"])
        world.service.state.update { $0.refusals = [:] }
        try await world.service.state.wait(for: "the tasks") { $0.backgroundTasks == [1: "before", 2: "a", 3: "b"] }
        application.endBackgroundTask(tasks[0])
        try await world.service.state.wait(for: "the end") { $0.backgroundTasks == [1: "before", 3: "b"] }
        #expect(world.service.state.read { $0.channels.count } == 1)
    }

    @Test @MainActor func `L2: Without a service, an app in the background gets no tasks`() async throws {
        let world = try World()
        world.service.stop()
        let application = Application(connection: world.process().connection)
        application.launch(environment: ["NIGHTSHIFT_APP": "org.example.app", "NIGHTSHIFT_LAUNCH": "background"])
        #expect(application.beginBackgroundTask(withName: "a") == .invalid)
        #expect(application.backgroundTaskRefusal != nil)
        try world.service.start()
        // The service may have received the request, so the library reports the end too.
        try await world.service.state.wait(for: "the end") { $0.log.contains("DELETE \(path)/1") }
        #expect(world.service.state.read { $0.backgroundTasksBegun }.isEmpty)
    }

    // MARK: - Expiration

    @Test func `L2: Handlers run once on the main thread, oldest first, before the acknowledgement`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let heard = Watched<[String]>([])
        let tasks = Watched<[BackgroundTaskIdentifier]>([])
        for number in 1...5 {
            let task = application.beginBackgroundTask(withName: "\(number)") {
                dispatchPrecondition(condition: .onQueue(.main))
                let acknowledged = world.service.state.read { $0.acknowledgedCommands }
                heard.update { $0.append("\(number)" + (acknowledged.isEmpty ? "" : " after the acknowledgement")) }
                // The second handler ends its own task. The third one ends the fourth task, but not its own.
                if number == 2 { application.endBackgroundTask(tasks.read { $0[1] }) }
                if number == 3 { application.endBackgroundTask(tasks.read { $0[3] }) }
            }
            tasks.update { $0.append(task) }
        }
        _ = application.beginBackgroundTask(withName: "without a handler")
        application.endBackgroundTask(tasks.read { $0[0] })
        let expire = ProcessCommand(number: 1, action: .expire)
        world.service.command(expire)
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        #expect(heard.read { $0 } == ["2", "3", "5"])
        try await world.service.state.wait(for: "the ends") { $0.backgroundTasks.count == 3 }
        #expect(world.service.state.read { $0.backgroundTasks.keys.sorted() } == [3, 5, 6])
        // The service repeats the command, as after a lost acknowledgement. Then it sends the command for the next
        // background run, with one new task.
        world.service.command(expire)
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledgedCommands == [1, 1] }
        _ = application.beginBackgroundTask(withName: "7") { heard.update { $0.append("7") } }
        world.service.command(ProcessCommand(number: 2, action: .expire))
        try await world.service.state.wait(for: "an acknowledgement") { $0.acknowledgedCommands == [1, 1, 2] }
        #expect(heard.read { $0 } == ["2", "3", "5", "7"])
    }

    @Test func `L2: The handler of a task runs if the service refuses the task after its return`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        let calls = Watched(0)
        _ = application.beginBackgroundTask(withName: "a") { calls.update { $0 += 1 } }
        world.service.state.update { $0.refusals["POST \(path)"] = .noBackgroundTime("It is over.") }
        world.service.breakStreams()
        try await calls.wait(for: "the handler") { $0 == 1 }
        world.service.command(ProcessCommand(number: 1, action: .expire))
        try await world.service.state.wait(for: "another channel") { !$0.channels.isEmpty }
        world.service.command(ProcessCommand(number: 2, action: .expire))
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands.last == 2 }
        #expect(calls.read { $0 } == 1)
    }
}
