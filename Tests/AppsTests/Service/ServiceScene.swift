import Apps
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Runtime
import SimulationSupport
import Store
import TestSupport
import Testing

/// An app service with a manual clock and with scripted or real processes.
final class ServiceScene {
    let scratch: TemporaryDirectory
    let paths: ServicePaths
    let clock: ManualClock
    let store: Store
    let gate = CommitGate()
    let host: any ProcessHost
    let service: AppService
    /// The reported activities, in order.
    let activities = Watched<[AppActivity]>([])
    /// The apps that entered the foreground, in order.
    let fronts = Watched<[AppID]>([])
    /// The calls to the other features, in order.
    let partCalls = Watched<[PartCall]>([])
    /// The notices that the other features return for every app. `arePartsBusy` delays their responses.
    let notices = Watched<[ProcessEvent]>([.refresh(RefreshNotice(availability: .available))])
    let arePartsBusy = Watched(false)
    /// Whether the transfers delay their call for the messages that an app can read.
    let areTransfersBusy = Watched(false)
    /// The reported use of apps.
    let uses = Watched<[FrontUse.Change]>([])
    private let running: Task<Void, Never>

    enum PartCall: Hashable, Sendable {
        case use(Bool)
        case forceQuit
        case launched
        case installed(AppID, name: String?)
        /// The number of ends that the store contained when the feature was called.
        case wakesEnded(Int)
        case askedForNotices
    }

    static let app = AppID(rawValue: "org.example.app")

    var scripted: ScriptedProcessHost? { host as? ScriptedProcessHost }

    /// - Parameters:
    ///   - keys: lines of the entry about background work.
    ///   - isReal: whether the processes are real instead of scripted.
    ///   - beforeItRuns: a closure that is called as soon as the service is prepared.
    init(
        keys: String = "", command: String = "/bin/true", isReal: Bool = false, moment: DeviceState? = nil,
        after former: ServiceScene? = nil, beforeItRuns: (AppService) async throws -> Void = { _ in }
    ) async throws {
        scratch = try former?.scratch ?? TemporaryDirectory()
        paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": scratch.path], homeDirectory: URL(filePath: "/"))
        for path in [paths.state, paths.runtime, paths.apps, paths.applications] {
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }
        let entry = "[Desktop Entry]\nType=Application\nName=App\nExec=\(command)\n\(keys)\n"
        try entry.write(
            to: paths.applications.appending(path: "\(Self.app.rawValue).desktop"), atomically: true, encoding: .utf8)
        clock =
            former?.clock.afterCrash()
            ?? ManualClock(
                ClockReading(
                    bootID: ProcessIdentity.currentBootID, bootSeconds: 5_000, awakeSeconds: 1_000,
                    wallSeconds: 1_800_000_000))
        store = try Store(paths: paths, now: clock.now())
        store.add(transactionObserver: gate)
        if let old = former?.scripted {
            host = old.successor { false }
        } else {
            host =
                isReal
                ? SystemProcessHost(paths: paths, bootID: ProcessIdentity.currentBootID)
                : ScriptedProcessHost { false }
        }
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let variables = ["NIGHTSHIFT_HOME": scratch.path, "PATH": "/usr/bin:/bin"]
        service = AppService(
            AppService.Environment(
                paths: paths, store: store, host: host,
                entries: EntryDirectories(paths: paths, environment: variables), clock: clock,
                transfers: AppService.TransferHooks(
                    forceQuit: { _ in }, cameToFront: { [fronts] app in fronts.update { $0.append(app) } },
                    setListening: { [areTransfersBusy] _, _ in
                        try? await areTransfersBusy.wait(for: "the transfers") { !$0 }
                    }, acknowledge: { _, _, _ in }),
                variables: variables, homeDirectory: scratch.path, fileCreationMask: 0o022,
                activity: { [activities] activity in activities.update { $0.append(activity) } }, logger: logger))
        Self.subscribe(service.events, partCalls, uses, notices, arePartsBusy, store)
        if let moment { await service.apply(moment) }
        try await service.prepare()
        try await beforeItRuns(service)
        running = Task { [service] in await service.run() }
    }

    /// Subscribes like a part of the service.
    private static func subscribe(
        _ events: AppEvents, _ calls: Watched<[PartCall]>, _ uses: Watched<[FrontUse.Change]>,
        _ notices: Watched<[ProcessEvent]>, _ areBusy: Watched<Bool>, _ store: Store
    ) {
        events.subscribe(
            notices: { _ in
                let answer = notices.read { $0 }
                calls.update { $0.append(.askedForNotices) }
                try? await areBusy.wait(for: "the other parts") { !$0 }
                return answer
            },
            receive: { event, app in
                switch event {
                case .use(let isInFront):
                    uses.update { $0.append(FrontUse.Change(app: app, isInFront: isInFront)) }
                    if app == Self.app { calls.update { $0.append(.use(isInFront)) } }
                case .forceQuit: calls.update { $0.append(.forceQuit) }
                case .launched: calls.update { $0.append(.launched) }
                case .suspended: break
                case .installed(let manifest):
                    calls.update { $0.append(.installed(app, name: manifest?.name)) }
                    try? await areBusy.wait(for: "the other parts") { !$0 }
                case .wakesEnded:
                    let count = (try? await store.read { try $0.wakeEnds().count }) ?? -1
                    calls.update { $0.append(.wakesEnded(count)) }
                }
            })
    }

    /// Ends the processes, then the service. Every test must call it last.
    func end() async throws {
        scripted?.endAll()
        await service.stop()
        await running.value
        try await close()
    }

    /// Closes the store on its own thread. Closing waits for readers, which need one of the few threads that tasks
    /// share.
    private func close() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread { [store] in continuation.resume(with: Result { try store.close() }) }.start()
        }
    }

    /// Ends the service without a shutdown. Its processes continue to run.
    func crash() async throws {
        clock.halt()
        try await close()
    }

    /// Advances the clock, and waits until the service has reacted.
    func pass(_ seconds: Double, until what: String, _ condition: () async throws -> Bool) async throws {
        clock.advance(to: clock.now().bootSeconds + seconds)
        try await eventually(what, condition)
    }

    func status(_ app: AppID = ServiceScene.app) async throws -> AppStatus { try await service.app(app) }

    func history() async throws -> [JournalEntry] {
        try await store.read { try $0.journal(after: 0, limit: 1_000) }
    }

    /// Returns the background time that a process would read.
    func shownTime(_ path: String?) throws -> BackgroundClock {
        let data = try Data(contentsOf: URL(filePath: try #require(path)))
        #expect(data.count == BackgroundClock.size)
        return BackgroundClock(word: data.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) })
    }
}

/// The commands sent to a process, in order of arrival.
final class CommandReader: Sendable {
    let events = Watched<[ProcessEvent]>([])
    let hasEnded = Watched(false)

    init(_ stream: AsyncStream<ProcessEvent>) {
        Task { [events, hasEnded] in
            for await event in stream { events.update { $0.append(event) } }
            hasEnded.update { $0 = true }
        }
    }

    var hello: ProcessHello? {
        events.read { $0.lazy.compactMap { if case .hello(let hello) = $0 { hello } else { nil } }.first }
    }

    var commands: [ProcessCommand] {
        events.read { $0.compactMap { if case .command(let command) = $0 { command } else { nil } } }
    }

    func command(_ action: ProcessCommand.Action, _ state: AppState? = nil) async throws -> ProcessCommand {
        try await events.wait(for: "\(action)") { events in
            events.contains { if case .command(let command) = $0 { command.isOf(action, state) } else { false } }
        }
        return try #require(commands.last { $0.isOf(action, state) })
    }
}

extension ProcessCommand {
    fileprivate func isOf(_ action: Action, _ state: AppState?) -> Bool {
        self.action == action && (state == nil || self.state == state)
    }
}
