import Foundation
import NightshiftAPI

/// A printer that writes one journal entry per line. It combines repeated waits, except in JSON.
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
