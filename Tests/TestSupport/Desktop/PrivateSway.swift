import Foundation
import Glibc

/// A private Wayland compositor, sway(1), without a screen.
///
/// sway refuses to run as root. In that case it runs as nobody. All its processes end with ``stop()``, with this
/// object, or with this process.
package final class PrivateSway: Sendable {
    private let directory: TemporaryDirectory
    private let compositor = Watched<ChildProcess?>(nil)
    private let clients = Watched<[ChildProcess]>([])

    /// The user and group `nobody` of Debian.
    private static let nobody: UInt32 = 65_534

    /// Creates a compositor that is not running yet.
    package init() throws {
        directory = try TemporaryDirectory()
        try directory.write("xwayland disable\n", to: "config")
        if geteuid() == 0 { chown(directory.path, Self.nobody, Self.nobody) }
    }

    package static func started() async throws -> PrivateSway {
        let sway = try PrivateSway()
        try await sway.start()
        return sway
    }

    deinit {
        stop()
    }

    /// The environment for programs that use this compositor.
    package var environment: [String: String] {
        [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": directory.path,
            "XDG_RUNTIME_DIR": directory.path, "WAYLAND_DISPLAY": "wayland-1", "LANG": "C.UTF-8",
        ]
    }

    package func start() async throws {
        let ipc = directory.path("ipc")
        for name in ["ipc", "wayland-1"] { try? FileManager.default.removeItem(atPath: directory.path(name)) }
        var variables = environment
        variables["WAYLAND_DISPLAY"] = nil
        variables["WLR_BACKENDS"] = "headless"
        variables["WLR_LIBINPUT_NO_DEVICES"] = "1"
        variables["WLR_RENDERER"] = "pixman"
        variables["SWAYSOCK"] = ipc
        let process = try child("sway", ["--config", directory.path("config")], variables)
        try await eventually("sway, of Debian's package sway") {
            if let exit = process.exit { throw CannotRun("sway", ended: exit, log: directory.path("sway.log")) }
            return FileManager.default.fileExists(atPath: directory.path("wayland-1"))
                && FileManager.default.fileExists(atPath: ipc)
        }
        compositor.update { $0 = process }
    }

    /// Ends the compositor, and with it every program that shows windows on it.
    package func stop() {
        let process = compositor.update { process in
            defer { process = nil }
            return process
        }
        process?.stop()
        for client in clients.update({ clients in
            defer { clients = [] }
            return clients
        }) { client.stop() }
    }

    /// Opens a window, which gets the focus.
    package func open(_ applicationID: String) async throws {
        let process = try child("foot", ["--app-id", applicationID, "sleep", "600"], environment)
        clients.update { $0.append(process) }
        try await eventually("a window of foot, of Debian's package foot") {
            if let exit = process.exit { throw CannotRun("foot", ended: exit, log: directory.path("foot.log")) }
            return try await message("-t", "get_tree").contains("\"\(applicationID)\"")
        }
    }

    package func focus(_ applicationID: String) async throws {
        _ = try await message("[app_id=\(applicationID)]", "focus")
    }

    package func close(_ applicationID: String) async throws {
        _ = try await message("[app_id=\(applicationID)]", "kill")
    }

    /// Runs swaymsg(1), and returns its output.
    @discardableResult
    package func message(_ words: String...) async throws -> String {
        try await ChildProcess.run("swaymsg", ["-s", directory.path("ipc")] + words).output
    }

    /// Suspends all of the compositor, or lets it continue.
    package func freeze(_ isFrozen: Bool) {
        compositor.read { $0 }?.kill(isFrozen ? SIGSTOP : SIGCONT)
    }

    private func child(_ program: String, _ arguments: [String], _ environment: [String: String]) throws -> ChildProcess
    {
        // A change of user clears the parent-death signal, so the signal is requested after it.
        let user = geteuid() == 0 ? ["--reuid=\(Self.nobody)", "--regid=\(Self.nobody)", "--clear-groups"] : []
        let prefix = user + ["--pdeathsig", "TERM", "--", program]
        // The user nobody may lack access to the directory in which the tests run.
        return try ChildProcess(
            "setpriv", arguments: prefix + arguments, environment: environment,
            errors: .file(directory.path("\(program).log")), directory: directory.path, diesWithParent: false)
    }
}
