import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

struct SimulateCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Simulate a trace, and print the decisions and totals.",
        discussion: """
            A trace describes a device, its use and its apps over time, with one JSON object per line. Its format is in \
            docs/simulation.md. The service's own rules make the decisions, under a virtual clock: a week takes \
            seconds, and the same trace always gives the same result. Nothing on this machine is changed.

            Examples:
              nightshift simulate Examples/traces/week.jsonl
              nightshift simulate evening.jsonl --policy contiguous -o evening.svg
              nightshift simulate a --json | nightshift timeline --simulation - -o a.svg
            """)

    @Argument(help: ArgumentHelp("The file with the trace, or - for standard input.", valueName: "trace"))
    var trace: String

    @Option(
        help: ArgumentHelp(
            "Replace all policies of the trace by this one: contiguous or opportunistic, optionally with :SECONDS.",
            valueName: "policy"),
        transform: PolicyArgument.parse)
    var policy: BackgroundPolicy?

    @Option(name: .shortAndLong, help: ArgumentHelp("Also draw the timeline to this file, as SVG.", valueName: "file"))
    var output: String?

    @Flag(help: "Print only the totals.")
    var totals = false

    @Flag(help: "Write JSON to standard output: one journal entry per line, and the totals last.")
    var json = false

    func validate() throws {
        if output == "-" {
            throw ValidationError("-o needs a file, because the decisions are written to standard output.")
        }
        if json, totals {
            throw ValidationError("--json and --totals cannot be combined. The last line of JSON has the totals.")
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
            throw CommandFailure.failed(
                "The output of nightshiftd has no totals. Check that nightshift and nightshiftd have the same version.")
        }
        // The timeline is written first, because a reader of the decisions may close the pipe early, which ends this
        // program.
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
