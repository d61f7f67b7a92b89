import Foundation
import NightshiftAPI
import NightshiftClient

/// A run of `nightshiftd simulate`, which simulates a trace and writes the decisions.
struct SimulationRun {
    /// The search that finds `nightshiftd`.
    var search: DaemonSearch
    /// The path of the trace, or `-` for standard input.
    var trace: String
    var policy: BackgroundPolicy?

    /// Runs the program and returns its complete output.
    ///
    /// - Throws: ``CommandFailure`` with the error message of the program.
    func output() throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: try search.requireDaemon())
        process.arguments = ["simulate", trace] + (policy.map { ["--policy", $0.description] } ?? [])
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        do {
            try process.run()
        } catch {
            throw CommandFailure.unreachable(
                "\(process.executableURL?.path ?? "nightshiftd") could not be run: \(error)")
        }
        // The program writes to standard error only at its end, and it writes less than a pipe can hold.
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        let words = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw failure(process.terminationStatus, String(decoding: words, as: UTF8.self))
        }
        return data
    }

    private func failure(_ status: Int32, _ words: String) -> CommandFailure {
        let prefix = "nightshiftd: "
        let line = words.trimmingCharacters(in: .whitespacesAndNewlines)
        let message = line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : line
        let mistake: Int32 = 2
        return status == mistake
            ? .usage(message) : .failed(message.isEmpty ? "nightshiftd ended with status \(status)." : message)
    }
}

/// The parsed output of a simulation.
struct SimulationOutput: Sendable {
    var entries: [JournalEntry] = []
    /// The totals of the simulation, or nil if the output is a journal.
    var totals: SimulationTotals?

    /// Parses the output.
    ///
    /// - Throws: ``CommandFailure`` if a line is not output of a simulation or of `nightshift journal --json`.
    init(parsing data: Data) throws {
        for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty else { continue }
            do {
                switch try JSON.decode(SimulationRecord.self, from: Data(line)) {
                case .entry(let entry): entries.append(entry)
                case .totals(let totals): self.totals = totals
                }
            } catch {
                throw CommandFailure.usage(
                    "Line \(index + 1) is not output of 'nightshift simulate --json' or 'nightshift journal --json'."
                )
            }
        }
    }

    /// The time span of the simulation.
    var span: DateInterval? {
        totals.map { DateInterval(start: $0.start, end: max($0.start, $0.end)) }
    }
}
