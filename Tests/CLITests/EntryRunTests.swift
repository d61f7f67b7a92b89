import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Tests of the combination of repeated journal entries.
struct EntryRunTests {
    private static func held(_ id: Int64, _ message: String, task: Int64 = 13) -> JournalEntry {
        var entry = Samples.entry(id, .held, task: task, secondsAgo: Double(1_000 - id))
        entry.error = TransferFailure(.cannotConnect, message)
        entry.wait = Wait(reason: .retry, since: entry.time, detail: message)
        return entry
    }

    private static func shape(_ entries: [JournalEntry]) -> [String] {
        EntryRun.runs(entries).map { "\($0.entry.decision.rawValue) \($0.count)" }
    }

    @Test func `The journal combines equal waits`() {
        let entries = [Samples.entry(1, .accepted, task: 13)] + (2...8).map { Self.held($0, "No connection.") }
        let runs = EntryRun.runs(entries)
        #expect(Self.shape(entries) == ["accepted 1", "held 7"])
        #expect(runs[1].since == entries[1].time && runs[1].entry == entries[7])
    }

    @Test func `The journal combines repeated groups of entries that end in a wait`() {
        let entries = (Int64(0)..<4).flatMap { round in
            [Samples.entry(round * 2, .started, task: 13), Self.held(round * 2 + 1, "The connection ended.")]
        }
        #expect(Self.shape(entries) == ["started 4", "held 4"])
    }

    @Test func `The journal combines the waits of each transfer, even if several transfers alternate`() {
        let waits = (Int64(0)..<6).map { Self.held($0 + 1, "No connection.", task: 13 + $0 % 3) }
        var ended = Samples.entry(7, .completed, task: 14)
        ended.time = waits[5].time
        let runs = EntryRun.runs(waits + [ended, Self.held(8, "No connection.", task: 14)])
        // Each run stands at the position of its last entry. Other entries in between start a new run.
        #expect(
            runs.map { "\($0.entry.id) \($0.entry.task?.rawValue ?? 0) \($0.count)" }
                == ["4 13 2", "5 14 2", "6 15 2", "7 14 1", "8 14 1"])
        #expect(runs[0].since == waits[0].time && runs[2].since == waits[2].time)
    }

    @Test func `The journal combines repeated groups of each transfer, even if several alternate`() {
        var entries: [JournalEntry] = []
        for _ in 0..<4 {
            for task in [Int64(13), 14] { entries.append(Samples.entry(Int64(entries.count), .started, task: task)) }
            for task in [Int64(13), 14] { entries.append(Self.held(Int64(entries.count), "It ended.", task: task)) }
        }
        #expect(Self.shape(entries) == ["started 4", "started 4", "held 4", "held 4"])
    }

    @Test func `The journal does not combine different entries`() {
        #expect(
            Self.shape([Self.held(1, "a"), Self.held(2, "b"), Self.held(3, "a")]) == ["held 1", "held 1", "held 1"])
        #expect(Self.shape([Self.held(1, "a"), Self.held(2, "a", task: 14)]) == ["held 1", "held 1"])
        // Only wait entries are combined.
        let changed = (1...3).map { Samples.entry($0, .changed, task: 13) }
        #expect(Self.shape(changed) == ["changed 1", "changed 1", "changed 1"])
        #expect(Self.shape([]).isEmpty)
    }

    @Test func `The journal prints repeated attempts once, with their number`() throws {
        let ear = Ear()
        let printer = JournalPrinter(
            output: ear.output(), times: Samples.times, style: Style(isEnabled: false), isJSON: false)
        try printer.print((1...7).map { Self.held($0, "No connection to example.org.") })
        let lines = ear.text.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(ear.text.contains("[7 times since "))
        #expect(ear.text.components(separatedBy: "No connection to example.org.").count == 2)
    }

    @Test func `The why command prints a repeated error once, with its number of occurrences`() {
        var task = Samples.waiting()
        task.wait?.count = 7
        task.wait?.detail = "No connection."
        let explanation = Explanation(
            task: task, sentence: "Its last attempt failed. No connection.", endedBy: nil,
            history: (Int64(1)...7).flatMap { round in
                [Samples.entry(round * 2, .started, task: 13), Self.held(round * 2 + 1, "No connection.")]
            })
        let lines = TaskReport(times: Samples.times, style: Style(isEnabled: false)).lines(explaining: explanation)
        #expect(lines.count { $0.contains("7 times") } == 3, "\(lines)")
        #expect(!lines.contains { $0.contains("waits for") })
        #expect(lines.contains { $0.contains("7 in a row") })
    }

    @Test func `The list prints the number of failed attempts`() {
        var task = Samples.waiting()
        task.wait?.count = 3
        let text = TaskText.waiting(task.wait, lastError: task.lastError, now: Samples.now)
        #expect(text == "waiting: host not found, 3 times, again in 4 s")
    }
}
