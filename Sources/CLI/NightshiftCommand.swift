import ArgumentParser
import NightshiftAPI

/// The root of the command line.
struct NightshiftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshift",
        abstract: "Transfers files in the background, through restarts and bad networks.",
        discussion: """
            A service of your own does the work; this program asks it, watches it and starts it where it is not \
            running yet. What is handed over goes on when this program ends, when the terminal closes, and after the \
            machine has lost power.

            Exit codes: 0 everything is whole; 1 a transfer failed, or the service refused; 2 the command line makes \
            no sense; 3 the service cannot be reached; 130 ended by ^C, the transfers go on.

            With --json a command writes JSON and nothing else on standard output, and errors as one JSON object on \
            standard error.
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
                    StatusCommand.self, ServiceCommand.self, DoctorCommand.self, CompletionsCommand.self,
                    CompleteCommand.self, ManualCommand.self,
                ]),
        ])
}
