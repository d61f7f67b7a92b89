import ArgumentParser
import Foundation
import NightshiftAPI

struct ServiceUninstallCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Remove the systemd units that 'nightshift service install' wrote.",
        discussion: """
            Transfers and files stay. A command that needs the service still starts it.

            Examples:
              nightshift service uninstall
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireDefaultHome()
        let folder = invocation.unitDirectory
        let files = [UnitFiles.serviceName, UnitFiles.socketName].map { folder.appending(path: $0) }
            .filter { FileManager.default.fileExists(atPath: $0.path(percentEncoded: false)) }
        let manager = invocation.userManager
        if manager.isRunning && !files.isEmpty {
            try manager.require(["disable", "--now", UnitFiles.serviceName, UnitFiles.socketName])
        }
        for file in files {
            do {
                try FileManager.default.removeItem(at: file)
            } catch {
                throw CommandFailure.failed(
                    "\(file.path(percentEncoded: false)) could not be removed: \(error.systemReason).")
            }
        }
        if manager.isRunning && !files.isEmpty { try manager.require(["daemon-reload"]) }
        let names = files.map { $0.path(percentEncoded: false) }
        if format.json {
            try invocation.json(ServiceChange(files: names, isEnabled: false))
        } else if names.isEmpty {
            invocation.output.line("No units were installed.")
        } else {
            invocation.output.lines(names.map { "Removed \($0)" })
        }
        return .whole
    }
}
