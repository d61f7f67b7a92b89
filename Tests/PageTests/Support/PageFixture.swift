import Foundation
import NightshiftAPI
import NightshiftClient
import NightshiftCurl
import Synchronization
import TestSupport

/// The real service with an origin and the real page. Their processes end with this object.
final class PageFixture: Sendable {
    let files: TemporaryDirectory
    let origin: OriginServer
    let client: ServiceClient
    let downloads: String
    let variables: [String: String]
    private let brief = Mutex<[ChildProcess]>([])
    private let service = Mutex<ChildProcess?>(nil)

    init() async throws {
        files = try TemporaryDirectory()
        origin = try OriginServer(sendBuffer: 65_536)
        downloads = files.path("downloads")
        try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: true)
        let home = files.path("home")
        variables = [
            "NIGHTSHIFT_HOME": home, "HOME": files.path, "TZ": "UTC",
            // Without a system bus, the tests do not depend on the state of the machine.
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
        ]
        let paths = ServicePaths(environment: variables, homeDirectory: URL(filePath: "/nonexistent"))
        client = ServiceClient(socket: paths.socket.path(percentEncoded: false))
        try await start()
    }

    deinit {
        endPages()
        service.withLock { $0?.kill(SIGKILL) }
        for app in (try? String(contentsOfFile: files.path("processes"), encoding: .utf8))?.split(separator: "\n") ?? []
        {
            if let pid = Int32(app) { kill(pid, SIGKILL) }
        }
    }

    func start() async throws {
        let process = try ChildProcess(
            Programs.daemon, environment: variables, output: .file(files.path("log")),
            errors: .file(files.path("log")))
        service.withLock { $0 = process }
        try await eventually("an answer of the service", within: .seconds(60)) {
            (try? await client.send(.status)) != nil
        }
    }

    /// Sends SIGTERM, and waits for the service to exit.
    func stop() async throws {
        guard let process = service.withLock({ $0 }) else { return }
        process.kill(SIGTERM)
        _ = try await process.waitForExit()
    }

    /// Runs `nightshift page`.
    func open(_ arguments: [String] = []) async throws -> PageAddress {
        let outcome = try await ChildProcess.run(
            Programs.commandLine, ["page", "--no-open", "--json"] + arguments, environment: variables)
        guard outcome.code == 0 else { throw Failed(description: "nightshift page: \(outcome.errors)") }
        let address = try JSON.decode(PageAddress.self, from: Data(outcome.output.utf8))
        return address
    }

    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    func keep(_ process: ChildProcess) {
        brief.withLock { $0.append(process) }
    }

    func brief(_ pid: Int32) -> ChildProcess? { brief.withLock { $0.first { $0.pid == pid } } }

    /// Ends every page process of this home directory, including those with unknown process ids.
    private func endPages() {
        let word = Data("NIGHTSHIFT_HOME=\(variables["NIGHTSHIFT_HOME"] ?? "")\0".utf8)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let pid = Int32(name), let words = try? fileBytes("/proc/\(pid)/cmdline"),
                words.split(separator: 0).dropFirst().first.map({ Array($0) }) == Array("page".utf8),
                let environment = try? fileBytes("/proc/\(pid)/environ"),
                Data(environment + [0]).range(of: word) != nil
            else { continue }
            kill(pid, SIGKILL)
        }
    }

    // MARK: - Transfers and apps

    /// Starts a transfer that does not end before its test, and returns when the transfer runs.
    func slowTransfer(_ name: String) async throws -> TaskID {
        origin.serve("/\(name)", .seeded(size: 1_000_000_000, seed: 1, .throttle(bytesPerSecond: 200_000)))
        let id = try await enqueue(["/\(name)"])[0]
        try await wait(for: id, "its running") { $0.state == .running }
        return id
    }

    func enqueue(_ paths: [String], _ change: (inout TaskRequest) -> Void = { _ in }) async throws -> [TaskID] {
        let tasks = paths.map { path in
            var request = TaskRequest(url: path.hasPrefix("/") ? origin.url(path) : path)
            request.destination = Destination(directory: downloads)
            request.failsOnHTTPError = true
            change(&request)
            return request
        }
        return try await client.send(.enqueue(EnqueueRequest(tasks: tasks))).ids
    }

    @discardableResult
    func wait(
        for id: TaskID, _ what: String, until isSatisfied: (TaskStatus) -> Bool
    ) async throws -> TaskStatus {
        try await eventually("\(what) of task \(id)", within: .seconds(60)) {
            isSatisfied(try await client.send(.task(id)))
        }
        return try await client.send(.task(id))
    }

    /// Installs an app that runs without any activity.
    func install(_ id: String, name: String) async throws -> AppID {
        let script = try files.write("#!/bin/sh\necho $$ >> '\(files.path("processes"))'\nexec sleep 9000\n", to: "app")
        chmod(script, 0o700)
        let entry = """
            [Desktop Entry]
            Type=Application
            Name=\(name)
            Exec=\(script)
            X-Nightshift-BackgroundModes=transfer;
            """
        return try await client.send(.install(InstallRequest(entry: try files.write(entry, to: "\(id).desktop")))).id
    }
}

/// A client of the page that is not a browser and can send any fields.
struct RawClient: Sendable {
    let address: PageAddress
    static let loop = CurlLoop()

    var port: Int { URL(string: address.url)?.port ?? 0 }
    var origin: String { "http://127.0.0.1:\(port)" }

    func send(
        _ method: String = "GET", _ path: String, _ fields: [String: String] = [:], body: String? = nil
    ) async throws -> CurlResponse {
        var request = CurlRequest(url: origin + path, method: method)
        request.headers = fields.map { CurlField(name: $0.key, value: $0.value) }
        request.proxy = ""
        request.idleTimeout = 60
        if let body { request.body = .bytes(Array(body.utf8)) }
        return try await Self.loop.send(request)
    }

    /// Follows the link, and returns the cookie in the form in which a browser sends it.
    func letIn() async throws -> String {
        let path = String(address.url.dropFirst(origin.count))
        let response = try await send("GET", path)
        guard response.head.status == 303,
            let field = response.head.fields.first(where: { $0.name.lowercased() == "set-cookie" })
        else { throw PageFixture.Failed(description: "the link answered \(response.head.status)") }
        return String(field.value.prefix { $0 != ";" })
    }

    /// Returns the token that the document contains.
    func token(_ cookie: String) async throws -> String {
        let text = String(decoding: try await send("GET", "/", ["Cookie": cookie]).body, as: UTF8.self)
        guard let match = text.firstMatch(of: /nightshift-token" content="([0-9a-f]{64})"/) else {
            throw PageFixture.Failed(description: "no token in the document")
        }
        return String(match.output.1)
    }
}

extension PageFixture {
    /// Starts a page that ends after `timeout` seconds without a visitor.
    func brief(timeout: Int) async throws -> PageAddress {
        let output = files.path("brief")
        let process = try ChildProcess(
            Programs.daemon, arguments: ["page", "--timeout", String(timeout)], environment: variables,
            output: .file(output))
        keep(process)
        try await eventually("the page's address") { !((try? fileBytes(output)) ?? []).isEmpty }
        return try JSON.decode(PageAddress.self, from: Data(try fileBytes(output)))
    }

    func hasEnded(_ address: PageAddress) -> Bool { brief(address.processID)?.exit == .code(0) }
}
