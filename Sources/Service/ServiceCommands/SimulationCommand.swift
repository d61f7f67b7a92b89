import ArgumentParser
import Foundation
import NightshiftAPI
import Simulation

struct SimulationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Simulate a trace of the device with a virtual clock.",
        discussion: """
            Writes the decisions of the service as JSON lines: one journal entry per line, and the totals last. \
            'nightshift simulate' shows them as readable text.

            EXIT STATUS
              0 completed   1 the trace cannot be read   2 the trace has an error
            """)

    @Argument(help: "The file with the trace, or - for standard input.")
    var trace: String

    @Option(help: "The background policy to use instead of all policies of the trace.")
    var policy: String?

    func run() throws {
        let policy = try policy.map { text in
            guard let policy = BackgroundPolicy(text) else {
                throw ValidationError(
                    "The policy must be contiguous or opportunistic, or with :SECONDS (10 to 3600), not '\(text)'.")
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
