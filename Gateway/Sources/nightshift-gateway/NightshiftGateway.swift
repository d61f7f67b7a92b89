import ArgumentParser

/// A push gateway: it accepts pushes as APNs does, and delivers them to devices.
@main struct NightshiftGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshift-gateway",
        abstract: "Accepts pushes from providers, stores them, and delivers them to devices.",
        subcommands: [
            Run.self, Team.self, Key.self, Topic.self, Device.self, Enrolment.self, PushCommands.self, Log.self,
            Status.self,
            Doctor.self, ManualCommand.self,
        ])
}
