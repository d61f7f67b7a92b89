import ArgumentParser
import Daemon

/// The service itself: the default subcommand.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the service in the foreground (default).")

    func run() async throws {
        let status = await DaemonProcess.run()
        if status != 0 { throw ExitCode(status) }
    }
}
