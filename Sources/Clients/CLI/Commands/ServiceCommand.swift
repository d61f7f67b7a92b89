import ArgumentParser

struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Start, stop and install the service.",
        discussion: """
            The first command that needs the service starts it. Once installed, the service also starts at login, \
            before you type a command.

            Examples:
              nightshift service install
              nightshift service stop
              nightshift service run
            """,
        subcommands: [
            ServiceRunCommand.self, ServiceStartCommand.self, ServiceStopCommand.self, ServiceInstallCommand.self,
            ServiceUninstallCommand.self,
        ])
}

/// The document that `service start|stop|install|uninstall` prints with `--json`.
struct ServiceChange: Encodable {
    var isRunning: Bool?
    var processID: Int32?
    /// The unit files that `install` wrote, or that `uninstall` removed.
    var files: [String]?
    /// The copies of units that `install` removed because they hid the installed units.
    var removedFiles: [String]?
    /// Whether the units were enabled in systemd.
    var isEnabled: Bool?
}
