import ArgumentParser
import Foundation
import NightshiftAPI
import Simulation

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Play a trace under a virtual clock.",
        discussion: """
            Writes what the service would decide, as JSON: one entry of the journal to a line, and the totals last. \
            'nightshift simulate' shows the same to people.

            EXIT STATUS
              0 played to its end   1 the trace cannot be read   2 a mistake in the trace
            """)

    @Argument(help: "The trace's file, or - for standard input.")
    var trace: String

    @Option(help: "A background policy in place of all those of the trace.")
    var policy: String?

    func run() throws {
        let policy = try policy.map { text in
            guard let policy = BackgroundPolicy(text) else {
                throw ValidationError(
                    "A policy is contiguous or opportunistic, with :SECONDS (10 to 3600) if wanted, not '\(text)'.")
            }
            return policy
        }
        let outcome = Simulation.run(try read(), policy: policy)
        var lines = Data()
        for entry in outcome.entries {
            lines += try JSON.encode(SimulationRecord.entry(entry)) + Data("\n".utf8)
        }
        lines += try JSON.encode(SimulationRecord.totals(outcome.totals)) + Data("\n".utf8)
        try FileHandle.standardOutput.write(contentsOf: lines)
    }

    private func read() throws -> Trace {
        let bytes: Data
        do {
            bytes =
                trace == "-"
                ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(filePath: trace))
        } catch {
            Self.printError("\(trace) cannot be read: \(error.systemReason).")
            throw ExitCode(1)
        }
        do {
            return try Trace(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            Self.printError("\(trace == "-" ? "the trace" : trace), \(error)")
            throw ExitCode(2)
        }
    }

    private static func printError(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: \(message)\n".utf8))
    }
}
