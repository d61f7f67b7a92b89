import Foundation
import NightshiftAPI
import NightshiftClient

/// A run of `nightshiftd simulate`, which plays a trace and writes what would be decided.
struct SimulationRun {
    /// Where `nightshiftd` is looked for.
    var search: DaemonSearch
    /// The trace's file, or `-` for standard input.
    var trace: String
    var policy: BackgroundPolicy?

    /// Its whole output.
    ///
    /// - Throws: ``CommandFailure`` with what the program says is wrong.
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
        // It says nothing on standard error before it ends, and no more there than a pipe holds.
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

/// What a simulation has written, read back.
struct SimulationOutput: Sendable {
    var entries: [JournalEntry] = []
    /// Nil where the output is a journal and no simulation's.
    var totals: SimulationTotals?

    /// - Throws: ``CommandFailure`` where a line is not what a simulation, or `nightshift journal --json`, writes.
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

    /// The timeline of the run.
    var span: DateInterval? {
        totals.map { DateInterval(start: $0.start, end: max($0.start, $0.end)) }
    }
}
