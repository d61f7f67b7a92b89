import ArgumentParser
import Foundation
import NightshiftAPI

struct JournalCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Print what the service decided, and why.",
        discussion: """
            Prints each decision with its reason and the device state it was based on, oldest first. Without --since, \
            the journal of the last hour is printed. With --follow new decisions are printed as they are made, until \
            you press ^C.

            Examples:
              nightshift journal
              nightshift journal --since 2d --app org.example.Photos
              nightshift journal --since 2026-11-21T06:00 --json
              nightshift journal -f
            """)

    @Option(
        help: ArgumentHelp(
            "Start this long ago, such as 90s, 2h or 7d, or at this time, or with 'all' at the beginning.",
            valueName: "time"),
        transform: JournalStart.parse)
    var since: JournalStart?

    @Option(
        help: ArgumentHelp("Print only decisions about this app and its transfers.", valueName: "id"),
        completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var app: AppArgument?

    @Option(
        help: ArgumentHelp("Print only decisions about this transfer.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind)
    var task: Int64?

    @Flag(name: .shortAndLong, help: "Continue with new decisions until you press ^C.")
    var follow = false

    @Flag(help: "Write JSON to standard output, one object per line.")
    var json = false

    func validate() throws {
        if let task, task < 1 { throw ValidationError("A transfer's number is 1 or more.") }
        if task != nil, app != nil { throw ValidationError("--task and --app cannot be combined.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let start = since ?? .span(TimeSpan(seconds: 3_600))
        guard let moment = start.resolved(now: invocation.now(), timeZone: invocation.timeZone) else {
            throw CommandFailure.usage("The date in --since does not exist.")
        }
        let printer = JournalPrinter(
            output: invocation.output, times: invocation.times, style: Style(isEnabled: invocation.output.allowsColor),
            isJSON: json)
        var reader = JournalReader(
            service: invocation.service, app: try app.map { try invocation.appID($0) }, task: task.map { TaskID($0) },
            since: moment)
        try await invocation.service.ready()
        // After the first response, the command follows the journal even if the service stops.
        if let entries = try await reader.next() {
            try printer.print(entries)
        } else {
            try await explainSilence(invocation)
        }
        guard follow else {
            while let entries = try await reader.next() { try printer.print(entries) }
            return .whole
        }
        return try await JournalFollowing(reader: reader, printer: printer).run() ? .interrupted : .whole
    }

    /// Prints that no decision was made. Without any output, the user could think that the transfer does not exist.
    ///
    /// - Throws: ``Problem`` if the transfer does not exist.
    private func explainSilence(_ invocation: Invocation) async throws {
        let more = since == .all ? "" : " '--since all' prints the whole journal."
        if let task {
            do {
                _ = try await invocation.service.task(TaskID(task))
            } catch let problem as Problem where problem.status == 404 {
                throw CommandFailure(
                    status: .failed,
                    message: "There is no transfer \(task), and the journal of that time does not mention it.\(more)",
                    problem: problem)
            }
        }
        guard !json, !follow else { return }
        invocation.errors.line("No decision was made in that time.\(more)")
    }
}

/// The start of a journal on the command line.
enum JournalStart: Hashable, Sendable {
    case all
    case span(TimeSpan)
    case moment(TimeArgument)

    static func parse(_ text: String) throws -> JournalStart {
        if text == "all" { return .all }
        if let span = try? TimeSpan.parse(text) { return .span(span) }
        return .moment(try TimeArgument.parse(text))
    }

    /// Returns the date, or nil if the date does not exist. A time of day means the last time at which the clock showed
    /// it.
    func resolved(now: Date, timeZone: TimeZone) -> Date? {
        switch self {
        case .all: return Date(timeIntervalSince1970: 0)
        case .span(let span): return now.addingTimeInterval(-span.seconds)
        case .moment(let moment):
            guard let date = moment.resolved(now: now, timeZone: timeZone) else { return nil }
            if case .timeOfDay = moment, date > now {
                var calendar = Calendar(identifier: .gregorian)
                calendar.timeZone = timeZone
                return calendar.date(byAdding: .day, value: -1, to: date)
            }
            return date
        }
    }
}
