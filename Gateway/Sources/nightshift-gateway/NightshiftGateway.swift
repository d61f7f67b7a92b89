import ArgumentParser

/// A push gateway: it takes pushes as APNs takes them, and hands them to devices.
@main struct NightshiftGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshift-gateway",
        abstract: "Takes pushes from providers, stores them, and hands them to devices.",
        subcommands: [
            Run.self, Team.self, Key.self, Topic.self, Device.self, Enrolment.self, Push.self, Log.self, Status.self,
            Doctor.self, ManualCommand.self,
        ])
}
