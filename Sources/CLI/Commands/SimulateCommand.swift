import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct SimulateCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Play a trace: what would be decided, and what it comes to.",
        discussion: """
            A trace says what a device, its user and its apps do, one JSON object to a line; docs/simulation.md \
            describes it. The service's own rules decide under a virtual clock, so that a week takes seconds and the \
            same trace gives the same result each time. Nothing on this machine is touched.

            Examples:
              nightshift simulate Examples/traces/week.jsonl
              nightshift simulate evening.jsonl --policy contiguous -o evening.svg
              nightshift simulate a --json | nightshift timeline --simulation - -o a.svg
            """)

    @Argument(help: ArgumentHelp("The trace's file, or - for standard input.", valueName: "trace"))
    var trace: String

    @Option(
        help: ArgumentHelp(
            "A policy in place of all those of the trace: contiguous or opportunistic, with :SECONDS if wanted.",
            valueName: "policy"),
        transform: PolicyArgument.parse)
    var policy: BackgroundPolicy?

    @Option(name: .shortAndLong, help: ArgumentHelp("Draw the timeline as well, as SVG.", valueName: "file"))
    var output: String?

    @Flag(help: "Print the totals only.")
    var totals = false

    @Flag(help: "Write JSON on standard output: an entry of the journal to a line, and the totals last.")
    var json = false

    func validate() throws {
        if output == "-" { throw ValidationError("Standard output has the decisions; give the timeline a file.") }
        if json, totals {
            throw ValidationError("--json and --totals do not go together: the last line has the totals.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let data = try SimulationRun(
            search: DaemonSearch(
                executable: invocation.executable, searchPath: invocation.environment["PATH"] ?? ""),
            trace: trace == "-" ? trace : try invocation.absolute(trace), policy: policy
        ).output()
        let result = try SimulationOutput(parsing: data)
        guard let sums = result.totals else {
            throw CommandFailure.failed("nightshiftd wrote no totals; it may be of another version.")
        }
        // First: the reader of the decisions may have enough of them before their end, which ends this program.
        if let output {
            let timeline = TimelineReader.timeline(result.entries, span: result.span)
            let title = trace == "-" ? "Simulation" : "Simulation of \(URL(filePath: trace).lastPathComponent)"
            try invocation.write(
                timeline, title: title + (policy.map { ", \($0)" } ?? ""), timeZone: .gmt, to: output)
        }
        if json {
            invocation.output.write(data)
        } else {
            let style = Style(isEnabled: invocation.output.allowsColor)
            if !totals {
                let log = DecisionLog(start: sums.start, style: style)
                for entry in result.entries { invocation.output.line(log.line(entry)) }
                invocation.output.line()
            }
            invocation.output.lines(TotalsReport(totals: sums, style: style).lines)
        }
        return .whole
    }
}
