import ArgumentParser
import NightshiftAPI

struct DevicePolicyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Set how much background time apps have, and whether the device stays awake for it.",
        discussion: """
            contiguous gives 600 s and holds the device awake while a background task is open. opportunistic gives \
            180 s that pass only while the device is awake anyway. Both take another time behind a colon: \
            opportunistic:30. Apps with a policy of their own keep it ('nightshift app policy').

            Where the desktop tells whose window is in front, apps come to the front and go to the background with \
            their windows, unless they say so themselves. --follow-front off leaves that to 'nightshift app activate' \
            and 'nightshift app background'.

            Examples:
              nightshift device policy contiguous
              nightshift device policy opportunistic:30
              nightshift device policy --lead 10
              nightshift device policy --follow-front off
            """)

    @Argument(help: PolicyArgument.help, transform: PolicyArgument.parse)
    var policy: BackgroundPolicy?

    @Option(
        help: ArgumentHelp("Seconds between the expiration handlers and the end of the time.", valueName: "seconds"))
    var lead: Double?

    @Option(help: ArgumentHelp("Whether apps follow their windows: on or off.", valueName: "on|off"))
    var followFront: Switch?

    enum Switch: String, ExpressibleByArgument {
        case on, off
    }

    @OptionGroup var format: JSONOption

    func validate() throws {
        if policy == nil && lead == nil && followFront == nil {
            throw ValidationError("Say what to set: a policy, --lead or --follow-front.")
        }
        if let lead, !DeviceSettings.leadAllowed.contains(lead) {
            let range = DeviceSettings.leadAllowed
            throw ValidationError(
                "--lead is from \(Int(saturating: range.lowerBound)) to \(Int(saturating: range.upperBound)) seconds.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.change(
            DeviceChange(
                backgroundPolicy: policy, expirationLead: lead, followsFront: followFront.map { $0 == .on }),
            json: format.json)
    }
}
