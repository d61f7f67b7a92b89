import ArgumentParser
import Glibc

@main
enum GatewayProgram {
    static func main() async {
        // Some threads of libdispatch request a better nice value than the unit allows. Each refusal would write a line
        // to the system log.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        await NightshiftGateway.main()
    }
}

/// A push gateway: it accepts pushes as APNs does, and delivers them to devices.
struct NightshiftGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nightshift-gateway",
        abstract: "Accepts pushes from providers, stores them, and delivers them to devices.",
        version: NightshiftVersion.current,
        subcommands: [
            Run.self, Team.self, Key.self, Topic.self, Device.self, Enrolment.self, PushCommands.self, Log.self,
            Status.self,
            Doctor.self, ManualCommand.self,
        ])
}
