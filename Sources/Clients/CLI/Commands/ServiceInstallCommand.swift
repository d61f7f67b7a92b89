import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct ServiceInstallCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Let systemd start the service on demand and at login.",
        discussion: """
            Enables the user units that were installed with this program. Without such units, it writes two \
            units to your home and enables those. Units that an earlier version wrote to your home are removed if units are \
            installed, so that upgrades reach you. A service that runs outside of systemd is replaced.

            To continue transfers while you are not logged in, also run: loginctl enable-linger

            Examples:
              nightshift service install
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireDefaultHome()
        let daemon = try invocation.service.launcher.search.requireDaemon()
        let removed = invocation.installedUnits == nil ? [] : invocation.copiedUnits
        for file in removed { try ServiceUninstallCommand.remove(file) }
        let written = invocation.installedUnits == nil ? try write(daemon, to: invocation.unitDirectory) : []
        let manager = invocation.userManager
        let isEnabled = manager.isRunning
        if isEnabled {
            try manager.require(["daemon-reload"])
            try manager.require(["enable", UserManager.socket, UserManager.service])
            // A service that runs outside of systemd stops when the unit starts.
            try manager.require(["start", UserManager.socket, UserManager.service])
        }
        if format.json {
            try invocation.json(ServiceChange(files: written, removedFiles: removed.map(path), isEnabled: isEnabled))
            return .whole
        }
        invocation.output.lines(removed.map { "Removed \(path($0)), which hid the installed unit." })
        invocation.output.lines(written.map { "Wrote \($0)" })
        if let directory = invocation.installedUnits { invocation.output.line("Uses the units in \(path(directory))") }
        invocation.output.line(
            isEnabled
                ? "systemd starts the service from now on."
                : """
                The systemd user manager is not running, so the units were not enabled. When it runs, enable them with:
                  systemctl --user daemon-reload
                  systemctl --user enable --now \(UserManager.socket) \(UserManager.service)
                """)
        return .whole
    }

    /// Writes the units and returns the paths of their files.
    private func write(_ daemon: String, to directory: URL) throws -> [String] {
        let files = [
            (directory.appending(path: UserManager.socket), UnitFiles.socket),
            (directory.appending(path: UserManager.service), UnitFiles.service(daemon: daemon)),
        ]
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            for (file, text) in files { try Data(text.utf8).write(to: file, options: .atomic) }
        } catch {
            throw CommandFailure.failed(
                "The units could not be written to \(path(directory)): \(error.systemReason).")
        }
        return files.map { path($0.0) }
    }

    private func path(_ file: URL) -> String { file.path(percentEncoded: false) }
}
