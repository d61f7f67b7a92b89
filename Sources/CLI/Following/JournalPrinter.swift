import Foundation
import NightshiftAPI

/// Writes entries of the journal, one to a line.
struct JournalPrinter: Sendable {
    var output: Output
    var times: TimeText
    var style: Style
    var isJSON: Bool

    func print(_ entries: [JournalEntry]) throws {
        for entry in entries {
            if isJSON {
                output.write(try JSON.encode(entry) + Data("\n".utf8))
            } else {
                output.line(DecisionText(style: style).line(entry, time: times.absolute(entry.time)))
            }
        }
    }
}
