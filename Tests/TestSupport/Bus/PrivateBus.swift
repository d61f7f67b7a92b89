import Foundation

/// A private message bus. Every program that gets its ``address`` uses it as the system bus.
///
/// The daemon ends with ``stop()``, with this object, or with this process.
package final class PrivateBus: Sendable {
    package let address: String
    private let directory: TemporaryDirectory
    private let daemon: Watched<ChildProcess?>

    /// The path of a file that is created when a program makes the bus start a service.
    package var activations: String { directory.path("activations") }

    /// Creates a bus that is not running yet, with services that it starts on demand.
    ///
    /// - Parameters:
    ///   - names: the names of services whose start creates the file ``activations``.
    ///   - commands: the commands that start services, by the services' names. Each command is an absolute path with
    ///     arguments.
    package init(activatable names: [String] = [], commands: [String: String] = [:]) throws {
        directory = try TemporaryDirectory()
        address = "unix:path=\(directory.path("socket"))"
        daemon = Watched(nil)
        let services = commands.merging(names.map { ($0, "/bin/touch \(directory.path("activations"))") }) { $1 }
        for (name, command) in services {
            try directory.write(
                """
                [D-BUS Service]
                Name=\(name)
                Exec=\(command)

                """, to: "\(name).service")
        }
        try directory.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <servicedir>\(directory.path)</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>

            """, to: "bus.conf")
    }

    deinit {
        stop()
    }

    /// Returns a running bus.
    package static func started() async throws -> PrivateBus {
        let bus = try PrivateBus()
        try await bus.start()
        return bus
    }

    /// Starts the daemon, at the same address each time. Returns when it listens.
    package func start() async throws {
        let printed = directory.path("printed")
        try? FileManager.default.removeItem(atPath: printed)
        let process = try ChildProcess(
            "dbus-daemon",
            arguments: ["--config-file=\(directory.path("bus.conf"))", "--nofork", "--nopidfile", "--print-address"],
            output: .file(printed), errors: .inherit)
        try await eventually("dbus-daemon, of Debian's package dbus-daemon") {
            if let exit = process.exit { throw CannotRun("dbus-daemon", ended: exit) }
            return !((try? fileBytes(printed)) ?? []).isEmpty
        }
        daemon.update { $0 = process }
    }

    /// Kills the daemon, so that every client loses its connection.
    package func stop() {
        let process = daemon.update { process in
            defer { process = nil }
            return process
        }
        process?.stop(SIGKILL)
    }

    /// Suspends all of the daemon, or lets it continue.
    package func freeze(_ isFrozen: Bool) {
        daemon.read { $0 }?.kill(isFrozen ? SIGSTOP : SIGCONT)
    }

    /// Calls a method with busctl(1), and returns what busctl prints. The arguments follow its syntax: a signature,
    /// then values.
    @discardableResult
    package func call(
        _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [String] = []
    ) async throws -> String {
        let outcome = try await ChildProcess.run(
            "busctl",
            ["--address=\(address)", "--timeout=5", "--", "call", service, path, interface, method] + arguments)
        guard outcome.code == 0 else {
            throw CannotRun(description: "busctl call \(service) \(method): \(outcome.exit) \(outcome.errors)")
        }
        return outcome.output
    }
}
