import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct ServiceUninstallCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Stop systemd from starting the service at login.",
        discussion: """
            Disables the units, and removes those that 'nightshift service install' wrote to your home. Transfers and \
            files stay. A command that needs the service still starts it.

            Examples:
              nightshift service uninstall
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireDefaultHome()
        let (files, manager) = (invocation.copiedUnits, invocation.userManager)
        let isKnown = manager.state(of: UserManager.service)?.isLoaded == true
        if isKnown || (manager.isRunning && !files.isEmpty) {
            try manager.require(["disable", "--now", UserManager.service, UserManager.socket])
        }
        for file in files { try Self.remove(file) }
        if manager.isRunning && !files.isEmpty { try manager.require(["daemon-reload"]) }
        let names = files.map { $0.path(percentEncoded: false) }
        if format.json {
            try invocation.json(ServiceChange(files: names, isEnabled: false))
            return .whole
        }
        invocation.output.lines(names.map { "Removed \($0)" })
        if isKnown {
            invocation.output.line("Disabled the units.")
        } else if names.isEmpty {
            invocation.output.line("No units were installed.")
        }
        if manager.isEnabledForAllUsers(UserManager.socket) {
            invocation.output.line(
                """
                The units are enabled for all users of this machine. To exclude yourself, run:
                  systemctl --user mask \(UserManager.socket) \(UserManager.service)
                """)
        }
        return .whole
    }

    static func remove(_ file: URL) throws {
        do {
            try FileManager.default.removeItem(at: file)
        } catch {
            throw CommandFailure.failed(
                "\(file.path(percentEncoded: false)) could not be removed: \(error.systemReason).")
        }
    }
}
