import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import app_probe

/// An installed app-probe with a service and an origin. All are real processes, which end with this object.
final class AppFixture: Sendable {
    let service: Service
    let origin: OriginServer
    let app: String
    private let files: TemporaryDirectory
    private let plan: Mutex<Orders>

    /// - Parameter service: a service shared with another app; nil for a separate one.
    init(
        _ app: String = "org.example.Probe", service: Service? = nil, origin: OriginServer? = nil,
        _ change: (inout Orders) -> Void = { _ in }
    ) throws {
        self.app = app
        self.service = try service ?? Service()
        self.origin = try origin ?? OriginServer(sendBuffer: 65_536)
        files = try TemporaryDirectory()
        plan = Mutex(Orders(journal: files.path("journal"), folder: files.path("files")))
        try order(change)
    }

    deinit {
        ProcessSweep(home: service.home).sweep(first: service.process)
    }

    var api: ServiceAPI { service.api }

    // MARK: - Orders

    /// Changes the orders that the probe reads at its next launch.
    func order(_ change: (inout Orders) -> Void) throws {
        let data = try plan.withLock { orders in
            change(&orders)
            return try JSONEncoder().encode(orders)
        }
        try data.write(to: URL(filePath: files.path("orders")), options: .atomic)
    }

    /// The path of a file whose creation releases every process that waits for this gate.
    func gate(_ name: String) -> String { files.path(name) }

    func open(_ gate: String) throws {
        try Data().write(to: URL(filePath: gate))
    }

    // MARK: - The app

    /// Starts the service and installs the app's desktop entry, with `lines` at its end.
    func install(_ lines: String = "", modes: String = "transfer;", wakeLimit: Double = 30) async throws {
        if service.process?.exit != nil || service.process == nil { try await service.start() }
        let entry = """
            [Desktop Entry]
            Type=Application
            Name=Probe
            Exec=\(Programs.appProbe) \(files.path("orders"))
            X-Nightshift-BackgroundModes=\(modes)
            X-Nightshift-WakeLimit=\(wakeLimit)
            \(lines)
            """
        let path = try files.write(entry, to: "\(app).desktop")
        try await api.post("/v1/apps", InstallRequest(entry: path), as: AppStatus.self)
    }

    @discardableResult
    func launch(inBackground: Bool = false) async throws -> AppStatus {
        try await api.post("/v1/apps/\(app)/launch", LaunchRequest(background: inBackground))
    }

    /// Starts the app, whose rules make it die, and suspends until it has died.
    func launchUntilItDies() async throws {
        try await launch()
        try await wait(for: "its end") { $0.lastExit != nil }
    }

    /// Performs an action: `activate`, `background` or `kill`.
    @discardableResult
    func perform(_ verb: String) async throws -> AppStatus {
        try JSON.decode(AppStatus.self, from: try await api.send("POST", "/v1/apps/\(app)/\(verb)"))
    }

    func quit(force: Bool = false) async throws {
        try await api.post("/v1/apps/\(app)/quit", QuitRequest(force: force), as: AppStatus.self)
    }

    func status() async throws -> AppStatus { try await api.get("/v1/apps/\(app)") }

    func why() async throws -> AppExplanation { try await api.get("/v1/apps/\(app)/why") }

    /// Sends SIGKILL to the app's process, and suspends until the process is gone.
    func killApp() async throws {
        guard let pid = seen().last(where: { $0.event == .launched })?.process else { return }
        kill(pid, SIGKILL)
        try await eventually("the end of process \(pid)") { !LiveProcess(pid).isAlive }
    }

    /// Sends SIGKILL to the service, whichever process started it, and suspends until it is gone.
    func killService() async throws {
        let pid = try await api.status().processID
        kill(pid, SIGKILL)
        // The service's lock is free only when the last of its threads is gone.
        try await eventually("the end of the service") {
            !LiveProcess(pid).isAlive && service.names(in: "/proc/\(pid)/task").count <= 1
        }
    }

    /// Suspends until a service other than the process `old` responds, such as one that the app's library has started.
    func waitForService(besides old: Int32 = 0) async throws {
        try await eventually("another service") {
            guard let status = try? await api.status() else { return false }
            return status.processID != old
        }
    }

    // MARK: - The probe's journal

    /// Returns all lines of the probe's journal, from all its processes.
    func seen(_ event: Sighting.Event? = nil, task description: String? = nil) -> [Sighting] {
        let text = (try? fileBytes(files.path("journal"))) ?? []
        return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            try? JSONDecoder().decode(Sighting.self, from: Data(line))
        }.filter { ($0.event == event || event == nil) && ($0.description == description || description == nil) }
    }

    /// Returns the events of one process in order, without the progress of transfers.
    func story(of process: Int32? = nil) -> [Sighting.Event] {
        let process = process ?? seen(.launched).last?.process
        return seen().filter { $0.process == process }.map(\.event).filter {
            ![.progress, .sent, .known, .snapshot].contains($0)
        }
    }

    /// The events that a background launch delivers, in order.
    static let delivery: [Sighting.Event] = [.launched, .finishing, .moved, .completed, .finishedEvents]

    /// Returns the events of one process, by default the last one, without `handleEvents`, which reaches the main
    /// thread while the delegate queue already works. Returns nil if `handleEvents` did not arrive, or not before the
    /// events were finished.
    func backgroundStory(of process: Int32? = nil) -> [Sighting.Event]? {
        let story = story(of: process)
        guard let told = story.firstIndex(of: .handleEvents), let end = story.lastIndex(of: .finishedEvents), told < end
        else { return nil }
        return story.filter { $0 != .handleEvents }
    }

    /// Suspends until the probe has seen this event this many times.
    @discardableResult
    func wait(
        for event: Sighting.Event, count: Int = 1, task: String? = nil, within bound: Duration = .seconds(30)
    ) async throws -> Sighting {
        do {
            try await eventually("\(count) times \(event)", within: bound) { seen(event, task: task).count >= count }
        } catch is WaitedTooLong {
            throw await InVain(what: "\(count) times \(event)", fixture: self)
        }
        return seen(event, task: task)[count - 1]
    }

    /// Suspends until the app's status satisfies the condition, and returns that status. A later status may differ.
    @discardableResult
    func wait(
        for what: String, within bound: Duration = .seconds(30), until isSatisfied: (AppStatus) -> Bool
    ) async throws -> AppStatus {
        var satisfying: AppStatus?
        try? await eventually(what, within: bound) {
            satisfying = (try? await status()).flatMap { isSatisfied($0) ? $0 : nil }
            return satisfying != nil
        }
        guard let satisfying else { throw await InVain(what: what, fixture: self) }
        return satisfying
    }

    func waitUntilSuspended() async throws {
        try await wait(for: "suspension") { $0.state == .suspended }
    }

    /// Suspends until the service stores no finished file, because every event was acknowledged.
    func waitForAcknowledgement() async throws {
        do {
            try await eventually("the acknowledgement") { service.names(in: service.paths.files.path).isEmpty }
        } catch is WaitedTooLong {
            let files = service.names(in: service.paths.files.path)
            let notes = service.names(in: service.paths.state.appending(path: "delivered").path)
            throw await InVain(what: "the acknowledgement: files \(files), notes \(notes)", fixture: self)
        }
    }

    /// Returns the path of a file that the probe has moved.
    func file(_ name: String, session: String = "main") -> String { files.path("files/\(session)/\(name)") }

    var scratch: TemporaryDirectory { files }

    /// The contents of the apps' logs.
    var written: String {
        let folder = service.paths.apps.path
        return service.names(in: folder).filter { $0.hasSuffix(".log") }
            .map { (try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)) ?? "" }.joined()
    }

    /// Returns the service's status, the probe's events and its log, to diagnose a failed test.
    func account() async -> String {
        let history = (try? await why()).map { explanation in
            explanation.history.map { "\($0.time.ISO8601Format()) \($0.decision) \($0.detail ?? "")" }
                .joined(separator: "\n")
        }
        let seen = seen().filter { $0.event != .progress }.suffix(40).map { sighting in
            "\(sighting.awakeSeconds) \(sighting.process) \(sighting.event) \(sighting.session ?? "") \(sighting.description ?? "") "
                + "\(sighting.code.map { "\($0)" } ?? "")"
        }
        return """
            the service says:
            \(history ?? "nothing")
            \(((try? await api.tasks()) ?? []).suffix(5).map { "\($0)" }.joined(separator: "\n"))
            the app saw:
            \(seen.joined(separator: "\n"))
            and wrote:
            \(written.suffix(2_000))
            """
    }

    /// The error of an app that did not reach the expected state.
    struct InVain: Error, CustomStringConvertible {
        let description: String

        init(what: String, fixture: AppFixture) async {
            description = "waited without success for \(what); \(await fixture.account())"
        }
    }
}
