import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct TimelineCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Draw a timeline of the device, apps and transfers as an SVG picture.",
        discussion: """
            The source is the service's journal, or the output of 'nightshift simulate --json'. The timeline shows \
            when the device was in use, kept awake, dozing or in a maintenance window; the state, the background tasks \
            and the fetches of each app, and whether its content was fresh when you opened it; and when transfers ran \
            and waited. In a browser, point at a bar to see its details.

            Examples:
              nightshift timeline -o today.svg
              nightshift timeline -o week.svg --since 7d --app org.example.Photos
              nightshift timeline -o evening.svg --simulation evening.json
            """)

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the picture to this file, or to standard output with -.", valueName: "file"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "Start this long ago, such as 2h or 7d, or at this time, or with 'all' at the beginning. The default is 1d.",
            valueName: "time"),
        transform: JournalStart.parse)
    var since: JournalStart?

    @Option(
        help: ArgumentHelp("Draw only this app and its transfers. Can be repeated.", valueName: "id"),
        completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var app: [AppArgument] = []

    @Option(
        help: ArgumentHelp(
            "Draw this output of 'nightshift simulate --json', or - for standard input.", valueName: "file"))
    var simulation: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if simulation != nil, since != nil { throw ValidationError("--simulation and --since cannot be combined.") }
        if format.json, output == "-" {
            throw ValidationError("--json and the picture cannot both go to standard output.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let apps = Set(try app.map { try invocation.appID($0) })
        let timeline: Timeline
        let title: String
        var timeZone = invocation.timeZone
        if let simulation {
            let result = try SimulationOutput(parsing: try read(simulation, invocation))
            timeline = TimelineReader.timeline(result.entries, span: result.span, apps: apps)
            title = simulation == "-" ? "Simulation" : "Simulation \(URL(filePath: simulation).lastPathComponent)"
            // The times in a trace are in UTC.
            if result.totals != nil { timeZone = .gmt }
        } else {
            timeline = try await journal(invocation, apps)
            title = "Timeline"
        }
        try invocation.write(timeline, title: title, timeZone: timeZone, to: output)
        guard output != "-" else { return .whole }
        let report = TimelineReport(timeline, file: output)
        if format.json { try invocation.json(report) } else { invocation.output.line(report.line) }
        return .whole
    }

    private func journal(_ invocation: Invocation, _ apps: Set<AppID>) async throws -> Timeline {
        let start = since ?? .span(TimeSpan(seconds: 86_400))
        let now = invocation.now()
        guard let moment = start.resolved(now: now, timeZone: invocation.timeZone) else {
            throw CommandFailure.usage("The date in --since does not exist.")
        }
        var reader = JournalReader(service: invocation.service, since: moment)
        try await invocation.service.ready()
        var entries: [JournalEntry] = []
        while let page = try await reader.next() { entries += page }
        // For 'all', the timeline starts at the first entry of the journal.
        let first = start == .all ? entries.first?.time ?? now : moment
        // If the service cannot report the device state, the timeline is drawn only from the journal.
        let current = try? await invocation.service.client.send(.device)
        return TimelineReader.timeline(
            entries, span: DateInterval(start: min(first, now), end: now), apps: apps, current: current)
    }

    private func read(_ file: String, _ invocation: Invocation) throws -> Data {
        let path = try file == "-" ? nil : invocation.absolute(file)
        do {
            return try path.map { try Data(contentsOf: URL(filePath: $0)) }
                ?? FileHandle.standardInput.readToEnd() ?? Data()
        } catch {
            throw CommandFailure.usage("\(file) cannot be read: \(error.systemReason).")
        }
    }
}
