import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct LocationCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "location",
        abstract: "Show what tells where the device is, and which apps are told.",
        discussion: """
            Apps that their user allows it are woken when the device enters or leaves a region, or is somewhere else. \
            This shows the sources, when the receiver is asked next, and for each app what it watches, how often it \
            was woken and how long the receiver was on for it. Where the device is, is not shown: each app is told \
            what it may learn.

            'nightshift region' has the regions, 'nightshift app location ID' what an app may.

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
            // Lines are cut for a terminal only: a pipe gets all of them.
            columns: output.isTerminal ? output.size().columns : .max, style: Style(isEnabled: output.allowsColor),
            times: times)
    }

    var appLocationReport: AppLocationReport {
        AppLocationReport(times: times, style: Style(isEnabled: output.allowsColor))
    }
}
