import Foundation

/// A private X server without a visible screen, with or without a window manager.
///
/// All its processes end with ``stop()``, with this object, or with this process.
package final class PrivateXServer: Sendable {
    private let directory: TemporaryDirectory
    private let server = Watched<ChildProcess?>(nil)
    private let clients = Watched<[ChildProcess]>([])
    private let number = Watched<Int?>(nil)
    /// The file with the cookie that permits use of the server.
    package let authority: String

    /// Returns a running server. It refuses clients without ``authority``.
    package static func started() async throws -> PrivateXServer {
        let server = try PrivateXServer()
        try await server.start()
        return server
    }

    private init() throws {
        directory = try TemporaryDirectory()
        // The format is that of Xau(3): any machine, any display, and a cookie of sixteen bytes.
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        let cookie = (0..<16).map { _ in UInt8.random(in: 0...255) }
        authority = try directory.write(
            [0xff, 0xff, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, UInt8(cookie.count)] + cookie, to: "authority")
    }

    deinit {
        stop()
    }

    /// The server's name in the form of `DISPLAY`. It stays the same across restarts.
    package var display: String { ":\(number.read { $0 } ?? -1)" }

    /// The environment for programs that use this server.
    package var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment
        environment["DISPLAY"] = display
        environment["XAUTHORITY"] = authority
        environment["WAYLAND_DISPLAY"] = nil
        environment["HOME"] = directory.path
        return environment
    }

    package func start() async throws {
        let printed = directory.path("display")
        try? FileManager.default.removeItem(atPath: printed)
        // The number is random from a large range, so that no other server takes it while this one is stopped. Other
        // servers take the lowest free number.
        let name = number.read { $0 } ?? Int.random(in: 1_000..<50_000)
        let process = try ChildProcess(
            "Xvfb",
            arguments: [
                ":\(name)", "-displayfd", "1", "-screen", "0", "320x240x8", "-nolisten", "tcp", "-auth", authority,
                "-noreset",
            ], output: .file(printed), errors: .file(directory.path("errors")))
        try await eventually("Xvfb, of Debian's package xvfb") {
            if let exit = process.exit { throw CannotRun("Xvfb", ended: exit, log: directory.path("errors")) }
            let text = String(decoding: (try? fileBytes(printed)) ?? [], as: UTF8.self)
            guard text.hasSuffix("\n"), let found = Int(text.dropLast()) else { return false }
            number.update { $0 = found }
            return true
        }
        server.update { $0 = process }
    }

    /// Ends the server, and with it every program that shows windows on it.
    package func stop() {
        let process = server.update { process in
            defer { process = nil }
            return process
        }
        process?.stop()
        for client in clients.update({ clients in
            defer { clients = [] }
            return clients
        }) { client.stop() }
    }

    /// Starts openbox(1), which runs until the server or ``stop()`` ends it.
    @discardableResult
    package func startWindowManager() async throws -> ChildProcess {
        let process = try ChildProcess("openbox", environment: environment)
        clients.update { $0.append(process) }
        try await eventually("openbox, of Debian's package openbox") {
            if let exit = process.exit { throw CannotRun("openbox", ended: exit) }
            return try await run("xprop", ["-root", "_NET_SUPPORTED"]).contains("_NET_ACTIVE_WINDOW")
        }
        return process
    }

    /// A window that a separate program shows.
    package struct Window: Sendable {
        package let process: ChildProcess
        package let id: String
    }

    /// Opens a window, which the window manager puts in front. Its window classes are `name` in lower case, and `name`.
    package func open(_ name: String) async throws -> Window {
        let process = try ChildProcess(
            "xterm", arguments: ["-class", name, "-name", name.lowercased(), "-e", "sleep", "600"],
            environment: environment)
        clients.update { $0.append(process) }
        var id = ""
        try await eventually("a window of xterm, of Debian's package xterm") {
            if let exit = process.exit { throw CannotRun("xterm", ended: exit) }
            id =
                try await run("xdotool", ["search", "--onlyvisible", "--class", "^\(name)$"])
                .split(separator: "\n").last.map(String.init) ?? ""
            return !id.isEmpty
        }
        return Window(process: process, id: id)
    }

    package func activate(_ window: Window) async throws {
        _ = try await run("xdotool", ["windowactivate", window.id])
    }

    /// Sets a text property of a window.
    package func set(_ property: String, of window: Window, to text: String) async throws {
        _ = try await run("xprop", ["-id", window.id, "-f", property, "8u", "-set", property, text])
    }

    /// Runs a program that uses the display, and returns its output.
    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await ChildProcess.run(program, arguments, environment: environment).output
    }
}
