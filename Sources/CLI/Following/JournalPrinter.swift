import Foundation
import NightshiftAPI

/// Writes entries of the journal, one to a line; for people equal waits that follow each other share one.
struct JournalPrinter: Sendable {
    var output: Output
    var times: TimeText
    var style: Style
    var isJSON: Bool

    func print(_ entries: [JournalEntry]) throws {
        if isJSON {
            for entry in entries { output.write(try JSON.encode(entry) + Data("\n".utf8)) }
        } else {
            for run in EntryRun.runs(entries) {
                let line = DecisionText(style: style).line(run.entry, time: times.absolute(run.entry.time))
                output.line(line + run.suffix(times))
            }
        }
    }
}
