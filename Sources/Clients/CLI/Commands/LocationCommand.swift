import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct LocationCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "location",
        abstract: "Show the location sources, and the apps that receive location events.",
        discussion: """
            An app with your permission is woken when the device enters or leaves a region, or moves significantly. \
            This command shows the location sources, the time of the next fix, and for each app its permission, its \
            regions, the number of wakes, and how long the receiver was on for it. It does not show the location \
            itself.

            'nightshift region' manages regions, and 'nightshift app location ID' the permission of an app.

            Examples:
              nightshift location
              nightshift location --json
              nightshift device set location=52.5163,13.3777
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let status = try await invocation.service.fetch(.location)
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.locationReport.lines(status))
        }
        return .whole
    }
}

extension Invocation {
    var locationReport: LocationReport {
        LocationReport(
            // Lines are cut only for a terminal. A pipe receives complete lines.
            columns: output.isTerminal ? output.size().columns : .max, style: Style(isEnabled: output.allowsColor),
            times: times)
    }

    var appLocationReport: AppLocationReport {
        AppLocationReport(times: times, style: Style(isEnabled: output.allowsColor))
    }
}
