import ArgumentParser
import NightshiftAPI

struct DevicePolicyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Set the background time of apps, and whether the device stays awake for it.",
        discussion: """
            The policy contiguous gives an app 600 s, and keeps the device awake while a background task is open. The \
            policy opportunistic gives it 180 s, which pass only while the device is awake anyway. To set another \
            time, add it after a colon, such as opportunistic:30. Apps with their own policy keep it ('nightshift app \
            policy').

            If the desktop reports which window has the focus, the app of that window is in the foreground, and the \
            others are in the background. An app that reports its state itself is not affected. With --follow-front \
            off, only 'nightshift app activate' and 'nightshift app background' change the state of the other apps.

            Examples:
              nightshift device policy contiguous
              nightshift device policy opportunistic:30
              nightshift device policy --lead 10
              nightshift device policy --follow-front off
            """)

    @Argument(help: PolicyArgument.help, transform: PolicyArgument.parse)
    var policy: BackgroundPolicy?

    @Option(
        help: ArgumentHelp(
            "The time between the call to the expiration handlers and the end of the background time.",
            valueName: "seconds"))
    var lead: Double?

    @Option(
        help: ArgumentHelp("Whether the focused window decides which app is in the foreground.", valueName: "on|off"))
    var followFront: Switch?

    enum Switch: String, ExpressibleByArgument {
        case on, off
    }

    @OptionGroup var format: JSONOption

    func validate() throws {
        if policy == nil && lead == nil && followFront == nil {
            throw ValidationError("Give a policy, --lead or --follow-front.")
        }
        if let lead, !DeviceSettings.leadAllowed.contains(lead) {
            let range = DeviceSettings.leadAllowed
            throw ValidationError(
                "--lead must be from \(Int(saturating: range.lowerBound)) to \(Int(saturating: range.upperBound)) seconds."
            )
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.change(
            DeviceChange(
                backgroundPolicy: policy, expirationLead: lead, followsFront: followFront.map { $0 == .on }),
            json: format.json)
    }
}
