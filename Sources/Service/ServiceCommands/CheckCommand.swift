import ArgumentParser
import Daemon

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check whether the service could start. Changes nothing.",
        discussion: """
            Checks the configuration, the directories and the database, as the start of the service does. Use \
            'nightshift doctor' for a check of everything.

            EXIT STATUS
              0 the service could start; otherwise the exit status of the start
            """)

    func run() async throws {
        let status = await DaemonProcess.check()
        if status != 0 { throw ExitCode(status) }
    }
}
