import Foundation
import NightshiftAPI

/// Repeated journal entries about one transfer or app that are shown as one.
struct EntryRun: Hashable {
    /// The last of the repeated entries.
    var entry: JournalEntry
    /// The time of the first entry.
    var since: Date
    var count: Int

    /// Combines repeated entries. A repetition is a single wait, or a group of a few entries that contains a wait, such
    /// as a start and the wait after its failure. Entries about different transfers and apps are combined separately,
    /// even if they alternate. A run has the position of its last entry.
    static func runs(_ entries: [JournalEntry]) -> [EntryRun] {
        Dictionary(grouping: entries, by: Subject.init).values.flatMap(runs(of:)).sorted { $0.entry.id < $1.entry.id }
    }

    /// The transfer or the app that a decision concerns. If both are nil, the decision concerns the device or the
    /// service.
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
            // A group of two entries that is repeated must not be counted as a group of four.
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

    /// Returns how often the first `length` entries are repeated, or 1 if none of them is a wait.
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

    /// Returns text such as "  [7 times since 12:01:04]". It is empty for a single entry.
    func suffix(_ times: TimeText) -> String {
        count > 1 ? "  [\(count) times since \(times.absolute(since))]" : ""
    }
}

extension JournalEntry {
    /// Returns whether two entries about the same transfer or app differ only in their id and time.
    fileprivate func saysTheSame(as other: JournalEntry) -> Bool {
        decision == other.decision && wait?.reason == other.wait?.reason && wait?.detail == other.wait?.detail
            && error == other.error && detail == other.detail && inputs == other.inputs
    }
}
