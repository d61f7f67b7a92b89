import Apps
import Foundation
import Logging
import NightshiftAPI
import Sessions
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// A ``World`` with apps: the services for transfers and for apps over one store, scripted processes, and scripted
/// programs.
final class AppWorld {
    let world: World
    private(set) var host: ScriptedProcessHost
    private(set) var apps: AppService
    /// The programs by app ID.
    var programs: [AppID: ScriptedProgram] = [:]
    /// The processes of programs by process ID.
    var actors: [Int32: ScriptedActor] = [:]
    var record = DeliveryRecord()
    private var running: Task<Void, any Error>?
    private var graveyard: [(AppService, ScriptedProcessHost, [Int32: ScriptedActor])] = []

    var transfers: TransferService { world.service }
    var isDying: Bool { world.commits.hasFailed }

    init(seed: UInt64 = 1) throws {
        world = try World(seed: seed, jitter: 0.5, bootID: ProcessIdentity.currentBootID)
        for path in [world.paths.apps, world.paths.applications] {
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }
        host = ScriptedProcessHost { [commits = world.commits] in commits.hasFailed }
        apps = Self.makeApps(world, host)
    }

    private static func makeApps(_ world: World, _ host: ScriptedProcessHost) -> AppService {
        var logger = Logger(label: "simulation")
        logger.logLevel = .critical
        let variables = ["NIGHTSHIFT_HOME": world.directory.path("home"), "PATH": "/usr/bin:/bin"]
        let service = world.service
        return AppService(
            AppService.Environment(
                paths: world.paths, store: world.store, host: host,
                entries: EntryDirectories(paths: world.paths, environment: variables), clock: world.clock,
                transfers: AppService.TransferHooks(
                    forceQuit: { try? await service.forceQuit($0) },
                    cameToFront: { await service.cameToFront($0) },
                    setListening: { await service.setListening($0, $1) },
                    acknowledge: { try? await service.acknowledge($0, $1, through: $2) }),
                variables: variables, homeDirectory: world.directory.path, fileCreationMask: 0o022, logger: logger))
    }

    // MARK: - Running

    func start() async {
        await world.start()
        await startApps()
    }

    private func startApps() async {
        let apps = apps
        running = Task {
            try await apps.prepare()
            await apps.run()
        }
        await step()
    }

    /// Crashes the service and starts the next one. The processes of apps keep running.
    func crash() async throws {
        world.commits.shut()
        let old = (apps, host, actors)
        try await world.crash()
        graveyard.append(old)
        running = nil
        for actor in actors.values { actor.loseService() }
        try await boot()
    }

    private func boot() async throws {
        try await world.boot()
        host = host.successor { [commits = world.commits] in commits.hasFailed }
        apps = Self.makeApps(world, host)
        await startApps()
    }

    /// Stops both services gracefully.
    func stop() async throws {
        for actor in actors.values { actor.loseService() }
        host.endAll()
        await world.settle()
        await world.call { [apps] in await apps.stop() }
        try await running?.value
        try await world.stop()
    }

    // MARK: - Time

    /// Lets every process perform all actions that are due now.
    func step() async {
        await world.settle()
        for _ in 0..<500 {
            guard !isDying, await letProgramsAct() else { return }
            await world.settle()
        }
        world.fail("The apps never come to rest.")
    }

    func advance(by seconds: Double) async {
        let end = world.now.bootSeconds + seconds
        await advance(atMost: seconds) { false }
        if !isDying, world.now.bootSeconds < end { world.clock.advance(to: end) }
        await step()
    }

    /// Advances the time until `condition` holds. Returns false if the condition does not hold within `seconds`.
    @discardableResult
    func advance(atMost seconds: Double, until condition: () async -> Bool) async -> Bool {
        let end = world.now.bootSeconds + seconds
        await step()
        while !isDying {
            if await condition() { return true }
            guard let next = world.nextEvent, next <= end else { return false }
            world.clock.advance(to: max(next, world.now.bootSeconds))
            world.transport.runDue()
            await step()
        }
        return false
    }

    // MARK: - Apps

    /// Installs a desktop entry for an app, and sets the behaviour of its program.
    @discardableResult
    func install(_ name: String, _ program: ScriptedProgram = ScriptedProgram(), keys: String = "") throws -> AppID {
        let id = AppID(rawValue: "org.example.\(name)")
        let modes = keys.contains("BackgroundModes") ? "" : "X-Nightshift-BackgroundModes=transfer;\n"
        let text = "[Desktop Entry]\nType=Application\nName=\(name)\nExec=/bin/true\n\(modes)\(keys)"
        let path = world.paths.applications.appending(path: "\(id.rawValue).desktop")
        try Data(text.utf8).write(to: path)
        programs[id] = program
        return id
    }

    /// Calls a method of one of the services that may throw a ``Problem``.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (AppService, TransferService) async throws -> Value
    ) async -> Result<Value, Problem>? {
        await world.call { [apps, transfers] in
            do {
                return .success(try await body(apps, transfers))
            } catch let problem as Problem {
                return .failure(problem)
            } catch {
                return .failure(.unavailable("\(error)"))
            }
        }
    }

    /// Calls a method that must succeed, unless the service dies in the meantime.
    @discardableResult
    func ask<Value: Sendable>(
        _ body: @escaping @Sendable (AppService, TransferService) async throws -> Value
    ) async -> Value? {
        switch await call(body) {
        case .success(let value): return value
        case .failure(let problem):
            if !isDying { world.fail("A request was refused: \(problem)") }
            return nil
        case nil: return nil
        }
    }

    func status(_ id: AppID) async -> AppStatus? {
        try? await apps.app(id)
    }

    /// Enqueues tasks for these URLs in the app's session, numbered from `first`. Repeating the call adds no tasks.
    @discardableResult
    func enqueue(
        _ app: AppID, _ session: String, _ urls: [String], from first: Int64 = 1, settings: SessionSettings = .init(),
        delay: Double? = nil, _ adjust: @escaping @Sendable (inout SessionTaskRequest) -> Void = { _ in }
    ) async -> [TaskID] {
        await ask { _, transfers in
            _ = try await transfers.attach(app, session, settings)
            var tasks = urls.enumerated().map {
                SessionTaskRequest(taskIdentifier: first + Int64($0), request: TaskRequest(url: $1))
            }
            for index in tasks.indices {
                tasks[index].request.connections = 1
                adjust(&tasks[index])
            }
            // Without URLs the call only creates the session.
            guard !tasks.isEmpty else { return [] }
            return try await transfers.enqueue(
                app, session, SessionEnqueueRequest(tasks: tasks),
                on: { _, now in .success(AppTaskTerms(startsPausedUntil: delay.map { now.wallSeconds + $0 })) })
        } ?? []
    }

    /// Returns the delay of the app's new tasks in seconds, according to its row.
    func startDelay(_ app: AppID) async -> Double? {
        let record = try? await world.store.read { try $0.app(app) }
        return record?.startsPausedUntil(now: world.now).map { $0 - world.now.wallSeconds }
    }

    /// Returns the stored messages of the session.
    func kept(_ app: AppID, _ session: String) async -> [StoredMessage] {
        let id = SessionID(app: app, identifier: session)
        return (try? await world.store.read { try $0.messages(id, after: 0, limit: 1_000) }) ?? []
    }

    /// Serves a file at an origin.
    @discardableResult
    func serve(
        _ name: String, size: Int64 = 20_000, script: [ScriptedBehaviour] = [],
        protection: ScriptedProtection? = nil
    ) -> String {
        let url = name.contains("/") ? "http://\(name)" : "http://\(name).example/file"
        var resource = ScriptedResource([ScriptedVersion(seed: 3, size: size, entityTag: "\"1\"")], script: script)
        resource.protection = protection
        world.transport.serve(url, resource)
        return url
    }
}

extension Simulation {
    /// Runs a simulation with apps. If it fails, the issue names the simulation.
    static func run(_ name: String, seed: UInt64 = 1, apps body: (AppWorld) async throws -> Void) async {
        do {
            let world = try AppWorld(seed: seed)
            defer { world.host.endAll() }
            try await body(world)
        } catch {
            Issue.record("\(name), seed \(seed): \(error)")
        }
    }
}
