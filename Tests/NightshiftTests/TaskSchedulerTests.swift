import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

private let refresh = "org.example.app.refresh"
private let cleaning = "org.example.app.cleaning"
private let tasksPath = "/v1/process/scheduled-tasks"

/// Tests of requests of apps to the task scheduler, and of its responses (row R10).
@Suite struct TaskSchedulerTests {
    private func scheduler(_ world: World, declared: [String] = [refresh, cleaning]) -> BGTaskScheduler {
        world.service.install(tasks: declared)
        return BGTaskScheduler(connection: world.process().connection)
    }

    /// Returns the code of the error that `body` throws.
    private func code(_ body: () throws -> Void) -> BGTaskScheduler.Error.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? BGTaskScheduler.Error)?.code
        }
    }

    // MARK: - Registering

    @Test func `R10: An app can register only identifiers that its desktop entry declares`() async throws {
        let world = try World()
        let scheduler = scheduler(world, declared: [refresh, "org.example.app.export.*"])
        #expect(scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in })
        #expect(scheduler.register(forTaskWithIdentifier: "org.example.app.export.7", using: .main) { _ in })
        #expect(scheduler.register(forTaskWithIdentifier: "org.example.app.export.*", using: nil) { _ in })
        #expect(!scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in })
        #expect(!scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in })
        #expect(!scheduler.register(forTaskWithIdentifier: "org.example.app.export", using: nil) { _ in })
    }

    @Test func `R10: Registration fails without a desktop entry, but succeeds without a service`() async throws {
        let world = try World()
        let scheduler = BGTaskScheduler(connection: world.process().connection)
        #expect(!scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in })
        world.service.stop()
        let alone = BGTaskScheduler(connection: world.process().connection)
        #expect(alone.register(forTaskWithIdentifier: refresh, using: nil) { _ in })
        #expect(code { try alone.submit(BGAppRefreshTaskRequest(identifier: refresh)) } == .unavailable)
        #expect(await alone.pendingTaskRequests().isEmpty)
    }

    // MARK: - Submitting

    @Test func `R10: submit() returns after it has sent the request with all properties`() async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in }
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let first = BGAppRefreshTaskRequest(identifier: refresh)
        first.earliestBeginDate = date
        try scheduler.submit(first)
        let second = BGProcessingTaskRequest(identifier: cleaning)
        #expect(!second.requiresExternalPower && !second.requiresNetworkConnectivity)
        second.requiresExternalPower = true
        second.requiresNetworkConnectivity = true
        try scheduler.submit(second)
        let submitted = world.service.state.read { $0.refresh.submitted }
        #expect(submitted.map(\.kind) == [.refresh, .processing])
        #expect(submitted.map(\.identifier) == [refresh, cleaning])
        #expect(submitted[0].earliestBegin == date)
        #expect(submitted[1].requiresPower == true && submitted[1].requiresNetwork == true)
        // The pending requests are copies, so this change has no effect on them.
        second.requiresExternalPower = false
        let pending = await scheduler.pendingTaskRequests()
        #expect(pending.map(\.identifier) == [refresh, cleaning])
        #expect((pending[0] as? BGAppRefreshTaskRequest)?.earliestBeginDate == date)
        #expect((pending[1] as? BGProcessingTaskRequest)?.requiresExternalPower == true)
        let heard = Watched<[String]>([])
        scheduler.getPendingTaskRequests { requests in heard.update { $0 = requests.map(\.identifier) } }
        try await heard.wait(for: "the requests") { $0 == [refresh, cleaning] }
    }

    @Test func `R10: The forms of submit added in version 27 have the same effect`() async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        try await scheduler.submitTaskRequest(BGAppRefreshTaskRequest(identifier: refresh))
        #expect(world.service.state.read { $0.refresh.submitted.count } == 1)
        world.service.state.update { $0.refusals["POST \(tasksPath)"] = .tooManyScheduledTasks("Ten wait.") }
        await #expect(throws: BGTaskScheduler.Error.self) {
            try await scheduler.submitTaskRequest(BGAppRefreshTaskRequest(identifier: refresh))
        }
        let codes = Watched<[BGTaskScheduler.Error.Code?]>([])
        scheduler.submitTaskRequest(BGAppRefreshTaskRequest(identifier: refresh)) { error in
            let code = (error as? BGTaskScheduler.Error)?.code
            codes.update { $0.append(code) }
        }
        try await codes.wait(for: "the error") { $0 == [.tooManyPendingTaskRequests] }
    }

    @Test(arguments: [
        (Problem.taskNotPermitted("Add the key."), BGTaskScheduler.Error.Code.notPermitted, 3),
        (.refreshUnavailable("Switched off."), .unavailable, 1),
        (.tooManyScheduledTasks("Ten wait."), .tooManyPendingTaskRequests, 2),
        (.noRoomForTask("Four run."), .immediateRunIneligible, 4),
        (.invalid("The title is too long."), .notPermitted, 3),
        (.unavailable("The disk is full."), .unavailable, 1),
    ])
    func `R10: A refused request throws Apple's error with the service's reason`(
        _ problem: Problem, _ code: BGTaskScheduler.Error.Code, _ number: Int
    ) async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        world.service.state.update { $0.refusals["POST \(tasksPath)"] = problem }
        let error = #expect(throws: BGTaskScheduler.Error.self) {
            try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        }
        #expect(error?.code == code && code.rawValue == number)
        let bridged = error.map { $0 as NSError }
        #expect(bridged?.domain == "BGTaskSchedulerErrorDomain" && bridged?.code == number)
        // The library retried a temporary refusal until the timeout.
        if problem.status != 503 { #expect(error?.localizedDescription == problem.detail) }
    }

    @Test func `R10: An app can catch errors by their codes`() throws {
        func refuse(_ code: BGTaskScheduler.Error.Code) throws { throw BGTaskScheduler.Error(code, "No.") }
        do {
            try refuse(.notPermitted)
        } catch BGTaskScheduler.Error.unavailable {
            Issue.record("It is another one.")
        } catch BGTaskScheduler.Error.notPermitted {
        }
        do {
            try refuse(.immediateRunIneligible)
        } catch let error as BGTaskScheduler.Error where error.code == .immediateRunIneligible {
            #expect(error == BGTaskScheduler.Error(.immediateRunIneligible, "No."))
        }
        #expect(BGTaskScheduler.errorDomain == "BGTaskSchedulerErrorDomain")
    }

    @Test func `R10: The service refuses a request with an identifier that could not be registered`() async throws {
        let world = try World()
        let scheduler = scheduler(world, declared: [])
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        world.service.state.update { $0.refusals["POST \(tasksPath)"] = .taskNotPermitted("Add the key.") }
        #expect(code { try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh)) } == .notPermitted)
    }

    // MARK: - Cancelling

    @Test func `R10: The library cancels requests in the order of the calls`() async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in }
        try scheduler.submit(BGProcessingTaskRequest(identifier: cleaning))
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        scheduler.cancel(taskRequestWithIdentifier: refresh)
        #expect(await scheduler.pendingTaskRequests().map(\.identifier) == [cleaning])
        scheduler.cancelAllTaskRequests()
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        #expect(await scheduler.pendingTaskRequests().map(\.identifier) == [refresh])
        // The request does not exist, which is not an error.
        world.service.state.update { $0.refusals["DELETE \(tasksPath)/\(cleaning)"] = .notFound("No request.") }
        scheduler.cancel(taskRequestWithIdentifier: cleaning)
        #expect(await scheduler.pendingTaskRequests().map(\.identifier) == [refresh])
    }

    @Test func `R10: The library sends a cancellation made without a service before the next request`() async throws {
        let world = try World()
        world.service.install(tasks: [refresh, cleaning])
        let connection = world.process().connection
        let scheduler = BGTaskScheduler(connection: connection)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in }
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        world.service.stop()
        scheduler.cancel(taskRequestWithIdentifier: refresh)
        #expect(world.service.state.read { $0.refresh.pending.count } == 1)
        try world.service.start()
        try connection.openChannel(until: .now + .seconds(60))
        try scheduler.submit(BGProcessingTaskRequest(identifier: cleaning))
        #expect(world.service.state.read { $0.refresh.pending.map(\.identifier) } == [cleaning])
    }

    @Test(arguments: [true, false])
    func `R10: A cancellation reaches an absent or slow service when it responds again`(isAway: Bool)
        async throws
    {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        if isAway {
            world.service.stop()
        } else {
            world.service.state.update { $0.refusals["DELETE \(tasksPath)/\(refresh)"] = .unavailable("It is busy.") }
        }
        scheduler.cancel(taskRequestWithIdentifier: refresh)
        #expect(world.service.state.read { $0.refresh.pending.count } == 1)
        world.service.state.update { $0.refusals = [:] }
        if isAway { try world.service.start() }
        try await world.service.state.wait(for: "the cancellation") { $0.refresh.pending.isEmpty }
    }

    @Test func `R10: The list of requests waits for a slow service`() async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        let attempts = world.service.isTooSlow(for: "GET \(tasksPath)")
        async let pending = scheduler.pendingTaskRequests().map(\.identifier)
        try await attempts()
        world.service.state.update { $0.refusals = [:] }
        #expect(await pending == [refresh])
    }

    @Test func `R10: Cancelling and submitting return even while a list waits for a slow service`() async throws {
        let world = try World()
        let scheduler = scheduler(world)
        scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        let line = "DELETE \(tasksPath)/\(refresh)"
        world.service.state.update { $0.refusals[line] = .unavailable("It is busy.") }
        let returned = Watched<[String]>([])
        Thread.detachNewThread {
            scheduler.cancel(taskRequestWithIdentifier: refresh)
            scheduler.getPendingTaskRequests { requests in returned.update { $0.append("list \(requests.count)") } }
            scheduler.cancel(taskRequestWithIdentifier: cleaning)
            returned.update { $0.append("cancelled") }
            try? scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
            returned.update { $0.append("submitted") }
        }
        try await returned.wait(within: .seconds(60), for: "both") { $0.contains("submitted") }
        #expect(returned.read { $0 } == ["cancelled", "submitted"])
        world.service.state.update { $0.refusals = [:] }
        try await returned.wait(for: "the list") { $0.last == "list 0" }
        #expect(world.service.state.read { $0.done.contains("DELETE \(tasksPath)/\(cleaning)") })
    }

    // MARK: - Requests as values

    @Test func `R10: The copy of a request has all its properties`() throws {
        let continued = BGContinuedProcessingTaskRequest(identifier: "a.1", title: "Export", subtitle: "Film")
        #expect(continued.strategy == .queue && continued.requiredResources == [])
        continued.strategy = .fail
        continued.requiredResources = .gpu
        let copy = try #require(continued.copy() as? BGContinuedProcessingTaskRequest)
        continued.title = "Import"
        #expect(copy.title == "Export" && copy.subtitle == "Film" && copy.strategy == .fail)
        #expect(copy.requiredResources == .gpu && BGContinuedProcessingTaskRequest.Resources.gpu.rawValue == 1)
        let processing = BGProcessingTaskRequest(identifier: cleaning)
        processing.requiresExternalPower = true
        processing.earliestBeginDate = Date(timeIntervalSince1970: 5)
        let second = try #require(processing.copy() as? BGProcessingTaskRequest)
        #expect(second.requiresExternalPower && !second.requiresNetworkConnectivity)
        #expect(second.earliestBeginDate == Date(timeIntervalSince1970: 5) && second.identifier == cleaning)
        #expect(
            (BGAppRefreshTaskRequest(identifier: refresh).copy() as? BGAppRefreshTaskRequest)?.identifier == refresh)
    }

    @Test func `R10: A continued task that needs a graphics processor is not permitted`() async throws {
        let world = try World()
        let scheduler = scheduler(world, declared: ["org.example.app.export.*"])
        let identifier = "org.example.app.export.1"
        scheduler.register(forTaskWithIdentifier: identifier, using: nil) { _ in }
        let request = BGContinuedProcessingTaskRequest(identifier: identifier, title: "Export", subtitle: "Film")
        request.requiredResources = .gpu
        #expect(BGTaskScheduler.supportedResources.isEmpty)
        #expect(code { try scheduler.submit(request) } == .notPermitted)
        request.requiredResources = []
        request.strategy = .fail
        request.earliestBeginDate = .distantFuture
        try scheduler.submit(request)
        let task = try #require(world.service.state.read { $0.refresh.submitted.last })
        #expect(task.title == "Export" && task.subtitle == "Film" && task.strategy == .fail)
        #expect(task.kind == .continued && task.earliestBegin == nil)
    }
}

/// Tests that calls for which Apple's scheduler raises an exception end the process with the same message (row R10).
@Suite struct TaskSchedulerRefusalTests {
    private func expect(_ sentence: String, in result: ExitTest.Result?) {
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains(sentence), "\(said)")
    }

    @Test func `R10: Registering an identifier twice ends the process`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let world = try World()
            world.service.install(tasks: [refresh])
            let scheduler = BGTaskScheduler(connection: world.process().connection)
            scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
            scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in }
        }
        expect("Launch handler for task with identifier \(refresh) has already been registered", in: result)
    }

    @Test func `R10: Submitting a request without a handler ends the process`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let world = try World()
            try BGTaskScheduler(connection: world.process().connection).submit(
                BGAppRefreshTaskRequest(identifier: refresh))
        }
        expect("No launch handler registered for task with identifier \(refresh)", in: result)
    }

    @Test func `R10: A request whose handler was registered late ends the process, unless it is continued`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let world = try World()
            world.service.install(tasks: [refresh])
            let connection = world.process().connection
            await MainActor.run { Application(connection: connection).launch(environment: [:]) }
            let scheduler = BGTaskScheduler(connection: connection)
            try #require(scheduler.register(forTaskWithIdentifier: refresh, using: nil) { _ in })
            let continued = BGContinuedProcessingTaskRequest(identifier: refresh, title: "Export", subtitle: "Film")
            try scheduler.submit(continued)
            try #require(world.service.state.read { $0.refresh.submitted.count } == 1)
            FileHandle.standardError.write(Data("The continued one is taken.\n".utf8))
            try scheduler.submit(BGAppRefreshTaskRequest(identifier: refresh))
        }
        expect("The continued one is taken.", in: result)
        expect("All launch handlers must be registered before application finishes launching", in: result)
    }

    @Test func `R9: The library reports an undeclared identifier once, with the key to add`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            world.service.install(tasks: [refresh])
            let scheduler = BGTaskScheduler(connection: world.process().connection)
            for _ in 1...2 { scheduler.register(forTaskWithIdentifier: cleaning, using: nil) { _ in } }
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "X-Nightshift-TaskIdentifiers=\(cleaning);").count == 2, "\(said)")
        #expect(said.contains("/apps/app.desktop"))
    }
}
