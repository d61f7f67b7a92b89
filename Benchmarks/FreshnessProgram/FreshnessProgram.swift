import ArgumentParser
import Foundation
import Freshness
import NightshiftAPI

/// A program that measures how fresh content is when it is opened, and writes the results as JSON.
@main
struct FreshnessProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshness-report",
        abstract:
            "Runs the planner of background fetches, and strategies to compare it with, over people's use of apps.",
        discussion: """
            The people are those of docs/decisions/0036, unless traces are given: files in the format of docs/simulation.md, of \
            which 'use' lines count, and 'idle' among the 'device' lines.
            """)

    @Option(name: .customLong("trace"), help: "A trace to use instead of simulated people. Repeatable.")
    var traces: [String] = []

    @Option(help: "The random seed of the simulated people.")
    var seed: UInt64 = 1

    @Option(parsing: .upToNextOption, help: "Fetches per app and day.")
    var perDay: [Int] = [2, 4, 8, 12]

    @Option(help: "The file for the JSON. By default it is printed.")
    var output: String?

    func validate() throws {
        guard perDay.allSatisfy({ (1...1_000).contains($0) }) else {
            throw ValidationError("--per-day must be from 1 to 1000.")
        }
    }

    func run() throws {
        let people =
            traces.isEmpty
            ? Person.allCases.map { $0.trace(seed: seed) }
            : try traces.map { path in
                let text = try String(contentsOfFile: path, encoding: .utf8)
                do throws(TraceSyntaxError) {
                    return UseTrace(try Trace(parsing: text), name: URL(filePath: path).lastPathComponent)
                } catch {
                    throw ValidationError("\(path), \(error)")
                }
            }
        let json = try JSON.encode(FreshnessReport(people, perAppAndDay: perDay))
        if let output {
            try json.write(to: URL(filePath: output))
        } else {
            print(String(decoding: json, as: UTF8.self))
        }
    }
}
