import ArgumentParser
import NightshiftAPI

/// The root command `nightshift`.
struct NightshiftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshift",
        abstract: "Transfers files in the background, through restarts and bad networks.",
        discussion: """
            A service that runs as your user does the work. This program sends requests to it, shows what it does, and \
            starts it if it does not run. A transfer that the service has accepted continues when this program ends, \
            when you close the terminal, and after a power failure.

            Exit codes: 0 everything completed; 1 a transfer failed, or the service refused a request; 2 the command \
            line is not valid; 3 the service cannot be reached; 130 you pressed ^C, and the transfers continue.

            With --json a command writes only JSON to standard output, and each error as one JSON object to standard \
            error.
            """,
        version: NightshiftVersion.current,
        groupedSubcommands: [
            CommandGroup(name: "Transfers", subcommands: [GetCommand.self, PutCommand.self, RetargetCommand.self]),
            CommandGroup(
                name: "Inspect",
                subcommands: [
                    ListCommand.self, ShowCommand.self, WhyCommand.self, WatchCommand.self, WaitCommand.self,
                    JournalCommand.self, TimelineCommand.self, PageCommand.self,
                ]),
            CommandGroup(
                name: "Control",
                subcommands: [
                    PauseCommand.self, ResumeCommand.self, RetryCommand.self, SetCommand.self, LimitCommand.self,
                    CancelCommand.self, RemoveCommand.self,
                ]),
            CommandGroup(
                name: "Apps",
                subcommands: [
                    AppCommand.self, RefreshCommand.self, PushCommand.self, LocationCommand.self, RegionCommand.self,
                    TaskCommand.self,
                ]),
            CommandGroup(name: "Device", subcommands: [DeviceCommand.self, SimulateCommand.self]),
            CommandGroup(
                name: "Service",
                subcommands: [
                    StatusCommand.self, ServiceCommand.self, Aria2Command.self, DoctorCommand.self,
                    CompletionsCommand.self, CompleteCommand.self, ManualCommand.self,
                ]),
        ])
}
