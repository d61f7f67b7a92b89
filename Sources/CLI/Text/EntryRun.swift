import Foundation
import NightshiftAPI

/// Entries of the journal that say the same of one transfer or app, one after the other, as one.
struct EntryRun: Hashable {
    /// The last of them.
    var entry: JournalEntry
    /// When the first of them was.
    var since: Date
    var count: Int

    /// Finds what repeats: single waits, and rounds of a few entries each that end in a wait, such as a start and the wait
    /// after its failure. Of each transfer and app by itself, so that several that take turns are told once, too; each run stands where
    /// its last entry does.
    static func runs(_ entries: [JournalEntry]) -> [EntryRun] {
        Dictionary(grouping: entries, by: Subject.init).values.flatMap(runs(of:)).sorted { $0.entry.id < $1.entry.id }
    }

    /// Whom a decision is about; neither is the device.
    private struct Subject: Hashable {
        var task: TaskID?
        var app: AppID?

        init(_ entry: JournalEntry) {
            task = entry.task
            app = entry.app
        }
    }

    private static func runs(of entries: [JournalEntry]) -> [EntryRun] {
        var runs: [EntryRun] = []
        var index = 0
        while index < entries.count {
            let rounds = (1...longestRound).map { (length: $0, count: repetitions(entries[index...], length: $0)) }
            // Rounds of two are not told as rounds of four.
            let best = rounds.filter { $0.count > 1 }.max {
                ($0.length * $0.count, -$0.length) < ($1.length * $1.count, -$1.length)
            }
            let length = best?.length ?? 1
            let count = best?.count ?? 1
            for place in index..<index + length {
                runs.append(
                    EntryRun(
                        entry: entries[place + length * (count - 1)], since: entries[place].time, count: count))
            }
            index += length * count
        }
        return runs
    }

    /// How often the first `length` entries come one round after the other; 1 where they have no wait among them.
    private static func repetitions(_ entries: ArraySlice<JournalEntry>, length: Int) -> Int {
        let round = entries.prefix(length)
        guard round.count == length, round.contains(where: { $0.decision == .held }) else { return 1 }
        var count = 1
        var rest = entries.dropFirst(length)
        while rest.count >= length, zip(round, rest).allSatisfy({ $0.saysTheSame(as: $1) }) {
            count += 1
            rest = rest.dropFirst(length)
        }
        return count
    }

    private static let longestRound = 3

    /// "  [7 times since 12:01:04]"; empty for one.
    func suffix(_ times: TimeText) -> String {
        count > 1 ? "  [\(count) times since \(times.absolute(since))]" : ""
    }
}

extension JournalEntry {
    /// Of two about the same transfer or app.
    fileprivate func saysTheSame(as other: JournalEntry) -> Bool {
        decision == other.decision && wait?.reason == other.wait?.reason && wait?.detail == other.wait?.detail
            && error == other.error && detail == other.detail && inputs == other.inputs
    }
}
