import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct ServiceInstallCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Install systemd units that start the service on demand and at login.",
        discussion: """
            Writes two user units, and enables them if the systemd user manager is running. To continue transfers \
            while you are not logged in, also run: loginctl enable-linger

            Examples:
              nightshift service install
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireDefaultHome()
        let daemon = try invocation.service.launcher.search.requireDaemon()
        let folder = invocation.unitDirectory
        let files = [
            (folder.appending(path: UnitFiles.socketName), UnitFiles.socket),
            (folder.appending(path: UnitFiles.serviceName), UnitFiles.service(daemon: daemon)),
        ]
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (file, text) in files { try Data(text.utf8).write(to: file, options: .atomic) }
        } catch {
            throw CommandFailure.failed(
                "The units could not be written to \(folder.path(percentEncoded: false)): \(error.systemReason).")
        }
        let manager = invocation.userManager
        let isEnabled = manager.isRunning
        if isEnabled {
            try manager.require(["daemon-reload"])
            try await handOver(manager, invocation)
        }
        let names = files.map { $0.0.path(percentEncoded: false) }
        if format.json {
            try invocation.json(ServiceChange(files: names, isEnabled: isEnabled))
            return .whole
        }
        invocation.output.lines(names.map { "Wrote \($0)" })
        invocation.output.line(
            isEnabled
                ? "systemd starts the service from now on."
                : """
                The systemd user manager is not running, so the units were not enabled. When it runs, enable them with:
                  systemctl --user daemon-reload
                  systemctl --user enable --now \(UnitFiles.socketName) \(UnitFiles.serviceName)
                """)
        return .whole
    }

    /// Lets systemd start the service. A service that was started by a command uses the same socket, so it is stopped
    /// first.
    private func handOver(_ manager: UserManager, _ invocation: Invocation) async throws {
        if !manager.isActive(UnitFiles.socketName),
            try invocation.service.launcher.isRunning()
        {
            var stop = invocation
            stop.output.write = { _ in }
            _ = try await ServiceStopCommand.parse([]).run(stop)
        }
        try manager.require(["enable", "--now", UnitFiles.socketName, UnitFiles.serviceName])
    }
}
