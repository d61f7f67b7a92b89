import Foundation
import NightshiftAPI

/// A line that `get`, `put` and `watch` print with `--json`.
struct FollowingRecord: Encodable {
    var event: String
    var ids: [TaskID]?
    var joined: [TaskID]?
    var entry: JournalEntry?
    var progress: TaskProgress?
    var task: TaskStatus?
    var id: TaskID?

    init(_ event: String) {
        self.event = event
    }
}

/// A reporter that writes newline-delimited JSON to standard output.
struct JSONReporter: TransferReporter {
    var output: Output
    /// Whether only accepted and ended tasks are written.
    var isQuiet: Bool

    mutating func accepted(_ ids: [TaskID], joined: [TaskID]) throws {
        var record = FollowingRecord("accepted")
        record.ids = ids
        record.joined = joined.isEmpty ? nil : joined
        try write(record)
    }

    mutating func decided(_ entry: JournalEntry, task: FollowedTask) throws {
        guard !isQuiet else { return }
        var record = FollowingRecord("journal")
        record.entry = entry
        try write(record)
    }

    mutating func progressed(_ progress: TaskProgress) throws {
        guard !isQuiet else { return }
        var record = FollowingRecord("progress")
        record.progress = progress
        try write(record)
    }

    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) throws {
        var record = FollowingRecord("ended")
        record.task = task
        try write(record)
    }

    mutating func removed(_ task: FollowedTask) throws {
        var record = FollowingRecord("removed")
        record.id = task.id
        try write(record)
    }

    mutating func connection(isLost: Bool) throws {
        guard !isQuiet else { return }
        try write(FollowingRecord(isLost ? "connectionLost" : "connectionRestored"))
    }

    private func write(_ record: FollowingRecord) throws {
        output.write(try JSON.encode(record) + Data("\n".utf8))
    }
}
