import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of wakes to fetch new content, and of the results that the app reports (row R1).
@Suite @MainActor struct BackgroundFetchTests {
    @discardableResult
    private func launch(_ delegate: any ApplicationDelegate, in world: World) -> Application {
        let application = Application(connection: world.process().connection)
        application.delegate = delegate
        application.launch(environment: [:])
        kept.append(application)
        return application
    }

    private func connected(_ world: World) async throws {
        try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
    }

    // MARK: - Fetches

    @Test(arguments: [
        (BackgroundFetchResult.newData, RefreshResult.newData), (.noData, .noData), (.failed, .failed),
    ])
    func `R1: The library acknowledges a fetch once, with the delegate's result`(
        _ said: BackgroundFetchResult, _ acknowledged: RefreshResult
    ) async throws {
        let world = try World()
        let delegate = CallingDelegate()
        launch(delegate, in: world)
        try await connected(world)
        world.service.wake(1, .fetch)
        try await delegate.heard.wait(for: "the fetch") { $0 == ["launched", "fetch"] }
        #expect(world.service.state.read { $0.acknowledgedCommands } == [])
        let handler = try #require(delegate.handlers.first)
        handler(said)
        handler(.newData)
        try await world.service.state.wait(for: "the acknowledgement") { $0.results[1] == acknowledged }
        world.service.wake(2, .region, "home")
        try await world.service.state.wait(for: "the later command") { $0.acknowledgedCommands.contains(2) }
        #expect(world.service.state.read { $0.acknowledgedCommands } == [1, 2])
    }

    @Test func `R1: A delegate may implement the asynchronous form of a fetch`() async throws {
        let world = try World()
        launch(WaitingDelegate(), in: world)
        try await connected(world)
        world.service.wake(1, .fetch)
        try await world.service.state.wait(for: "the acknowledgement") { $0.results == [1: .failed] }
    }

    @Test func `R1: A fetch that arrives during the launch waits until the launch has ended`() async throws {
        let world = try World()
        let process = world.process()
        try process.connection.openChannel(until: .now + .seconds(60))
        world.service.wake(1, .fetch)
        var behind = ProcessCommand(number: 2, action: .enter)
        behind.state = .background
        world.service.command(behind)
        // The main thread executes no requests before the app is launched.
        #expect(world.service.state.block { $0.acknowledgedCommands == [2] })
        let application = Application(connection: process.connection)
        let delegate = CallingDelegate()
        application.delegate = delegate
        application.launch(environment: ["NIGHTSHIFT_APP": "/app", "NIGHTSHIFT_LAUNCH": "background"])
        kept.append(application)
        try await delegate.heard.wait(for: "the fetch") { $0 == ["launched", "fetch"] }
    }

    @Test func `R1: The library does not run a fetch again after its acknowledgement was lost`()
        async throws
    {
        let world = try World()
        let delegate = CallingDelegate()
        launch(delegate, in: world)
        try await connected(world)
        world.service.wake(1, .fetch, wake: 7)
        try await delegate.heard.wait(for: "the fetch") { $0.last == "fetch" }
        // A restarted service numbers its commands from the beginning.
        world.service.wake(2, .fetch, wake: 7)
        world.service.wake(1, .fetch, wake: 7)
        delegate.handlers.first?(.noData)
        try await world.service.state.wait(for: "both acknowledgements") { $0.results == [1: .noData, 2: .noData] }
        world.service.wake(3, .fetch, wake: 7)
        try await world.service.state.wait(for: "the third") { $0.results[3] == .noData }
        world.service.wake(2, .fetch, wake: 7)
        try await world.service.state.wait(for: "it once more") { $0.acknowledgedCommands.count >= 4 }
        #expect(delegate.heard.read { $0 } == ["launched", "fetch"])
        world.service.wake(4, .fetch, wake: 8)
        try await delegate.heard.wait(for: "the next fetch") { $0.count == 3 }
    }

    @Test func `R9: A fetch without a delegate method ends with no data, and a message says why`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let world = try World()
            let process = world.process()
            await MainActor.run {
                let application = Application(connection: process.connection)
                application.delegate = DeafDelegate()
                application.launch(environment: [:])
                kept.append(application)
            }
            try await world.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
            world.service.wake(1, .fetch)
            world.service.wake(2, .fetch)
            try await world.service.state.wait(for: "the acknowledgements") { $0.results == [1: .noData, 2: .noData] }
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "DeafDelegate does not implement the method").count == 2, "\(said)")
    }

    @Test func `R1: The library acknowledges the expiration of a fetch, which the app can still complete`() async throws
    {
        let world = try World()
        let delegate = CallingDelegate()
        launch(delegate, in: world)
        try await connected(world)
        world.service.wake(1, .fetch)
        try await delegate.heard.wait(for: "the fetch") { $0.last == "fetch" }
        world.service.expire(2, .fetch, wake: 1)
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [2] }
        delegate.handlers.first?(.newData)
        try await world.service.state.wait(for: "the end") { $0.results == [1: .newData] }
    }

    // MARK: - The interval

    @Test func `R1: The library sends the interval asynchronously, and again when the service is back`()
        async throws
    {
        let world = try World()
        world.service.install()
        let application = launch(DeafDelegate(), in: world)
        application.setMinimumBackgroundFetchInterval(Application.backgroundFetchIntervalMinimum)
        try await world.service.state.wait(for: "the first") { $0.refresh.intervals.last == .minimum }
        application.setMinimumBackgroundFetchInterval(900)
        try await world.service.state.wait(for: "the second") { $0.refresh.intervals.last == .seconds(900) }
        world.service.state.update { $0.refresh.intervals = [] }
        world.service.breakStreams()
        try await world.service.state.wait(for: "it again") { $0.refresh.intervals.last == .seconds(900) }
        application.setMinimumBackgroundFetchInterval(Application.backgroundFetchIntervalNever)
        try await world.service.state.wait(for: "the last") { $0.refresh.intervals.last == .never }
    }

    @Test func `R1: The library accepts UIKit's constants as intervals, and seconds up to a year`() {
        #expect(Application.backgroundFetchIntervalMinimum == 0)
        #expect(Application.backgroundFetchIntervalNever == .greatestFiniteMagnitude)
        for (interval, expected) in [
            (0, RefreshInterval.minimum), (-5, .minimum), (0.5, .seconds(0.5)),
            (1e12, .seconds(RefreshInterval.longest)),
            (.greatestFiniteMagnitude, .never), (.infinity, .never), (.nan, .never),
        ] as [(TimeInterval, RefreshInterval)] {
            #expect(RefreshInterval(timeInterval: interval) == expected)
        }
    }

    @Test(
        arguments: [
            ([.transfer], [], "X-Nightshift-BackgroundModes=fetch;"),
            ([.fetch], ["org.example.refresh"], "X-Nightshift-TaskIdentifiers"),
        ] as [(Set<BackgroundMode>, [String], String)])
    func `R9: A message names the desktop entry's key that makes an interval ineffective`(
        _ modes: Set<BackgroundMode>, _ tasks: [String], _ key: String
    ) async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [modes = modes.map(\.rawValue) as [String], tasks = tasks as [String]] in
            let world = try World()
            world.service.install(modes: Set(modes.compactMap { BackgroundMode(rawValue: $0) }), tasks: tasks)
            let process = world.process()
            await MainActor.run {
                let application = Application(connection: process.connection)
                application.setMinimumBackgroundFetchInterval(60)
                application.setMinimumBackgroundFetchInterval(120)
                kept.append(application)
            }
            // The library sends the intervals one after the other, and prints the advice in between.
            try await world.service.state.wait(for: "both") { $0.refresh.intervals.last == .seconds(120) }
            await MainActor.run { kept.last?.setMinimumBackgroundFetchInterval(180) }
            try await world.service.state.wait(for: "the last") { $0.refresh.intervals.last == .seconds(180) }
            exit(EXIT_SUCCESS)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.components(separatedBy: "/apps/app.desktop").count == 2, "\(said)")
        #expect(said.contains(key), "\(said)")
    }

    // MARK: - The user's setting

    @Test func `R1: The library returns the refresh status of the service, and posts its changes`() async throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        // Reading the status waits for the service's greeting.
        #expect(application.backgroundRefreshStatus == .available)
        let posts = Watched(0)
        let observer = NotificationCenter.default.addObserver(
            forName: Application.backgroundRefreshStatusDidChangeNotification, object: application, queue: nil
        ) { _ in
            dispatchPrecondition(condition: .onQueue(.main))
            posts.update { $0 += 1 }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        application.launch(environment: [:])
        world.service.tell(.denied)
        try await posts.wait(for: "the change") { $0 == 1 }
        #expect(application.backgroundRefreshStatus == .denied)
        world.service.tell(.denied)
        world.service.tell(.restricted)
        try await posts.wait(for: "the next change") { $0 == 2 }
        #expect(application.backgroundRefreshStatus == .restricted)
    }

    @Test func `R1: The refresh status without a service is restricted, and only its first reading waits`() async throws
    {
        let world = try World()
        world.service.stop()
        let application = Application(connection: world.process().connection)
        let start = ContinuousClock.now
        #expect(application.backgroundRefreshStatus == .restricted)
        let middle = ContinuousClock.now
        #expect(application.backgroundRefreshStatus == .restricted)
        #expect(ContinuousClock.now - middle < middle - start, "The second call does not wait again.")
        application.launch(environment: [:])
        try world.service.start()
        try await eventually("the service's word") { application.backgroundRefreshStatus == .available }
    }
}

/// The applications that must exist until their process ends. Nothing else retains them.
@MainActor private var kept: [Application] = []

@MainActor private final class CallingDelegate: ApplicationDelegate {
    let heard = Watched<[String]>([])
    var handlers: [(BackgroundFetchResult) -> Void] = []

    nonisolated init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        heard.update { $0.append("launched") }
        return true
    }

    func application(
        _ application: Application,
        performFetchWithCompletionHandler completionHandler: @escaping (BackgroundFetchResult) -> Void
    ) {
        dispatchPrecondition(condition: .onQueue(.main))
        heard.update { $0.append("fetch") }
        handlers.append(completionHandler)
    }
}

private final class WaitingDelegate: ApplicationDelegate {
    func applicationPerformFetch(_ application: Application) async -> BackgroundFetchResult {
        await Task.yield()
        return .failed
    }
}

private final class DeafDelegate: ApplicationDelegate {}
