import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct TimelineCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Draw what the device, its apps and transfers did, as an SVG picture.",
        discussion: """
            Draws from the service's journal, or from what 'nightshift simulate --json' wrote: when the device was in \
            use, held awake, dozing or in a window of doze, what state each app was in, its background tasks, its \
            fetches and whether it was fresh when it was opened, and when transfers ran and waited. Pointing at a bar \
            in a browser tells more.

            Examples:
              nightshift timeline -o today.svg
              nightshift timeline -o week.svg --since 7d --app org.example.Photos
              nightshift timeline -o evening.svg --simulation evening.json
            """)

    @Option(name: .shortAndLong, help: ArgumentHelp("The picture's file, or - for standard output.", valueName: "file"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "How far back, such as 90s, 2h or 7d, a time, or 'all'; a day unless given.", valueName: "time"),
        transform: JournalStart.parse)
    var since: JournalStart?

    @Option(
        help: ArgumentHelp("Only this app and its transfers; may be repeated.", valueName: "id"),
        completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var app: [AppArgument] = []

    @Option(
        help: ArgumentHelp(
            "Draw what 'nightshift simulate --json' wrote to this file, or - for standard input.", valueName: "file"))
    var simulation: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if simulation != nil, since != nil { throw ValidationError("--simulation is drawn whole; leave --since out.") }
        if format.json, output == "-" {
            throw ValidationError("--json and the picture cannot both be on standard output.")
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
            // A trace is in UTC wherever it is played.
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
            throw CommandFailure.usage("--since: there is no such date.")
        }
        var reader = JournalReader(service: invocation.service, since: moment)
        try await invocation.service.ready()
        var entries: [JournalEntry] = []
        while let page = try await reader.next() { entries += page }
        // 'all' begins where the journal does.
        let first = start == .all ? entries.first?.time ?? now : moment
        // A service that cannot tell has a journal all the same.
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
