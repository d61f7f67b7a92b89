import Foundation
import NightshiftAPI

/// The downloads of the bridge: for each one its identifiers, its status and its place. Everything else is read from the
/// service when a client asks.
struct DownloadList: Sendable {
    struct Entry: Hashable, Sendable {
        var task: TaskID
        var gid: GID
        var status: DownloadStatus
        var priority: Double
        /// The number of the end of the download: later ends have larger numbers. It is 0 before the end.
        var end = 0.0
    }

    private var entries: [TaskID: Entry] = [:]
    private var tasks: [GID: TaskID] = [:]

    subscript(task: TaskID) -> Entry? { entries[task] }

    /// Adds or replaces the entry of a transfer.
    ///
    /// - Returns: the note and the events; nil if the transfer is not a download of the bridge.
    mutating func update(_ status: TaskStatus) -> (note: DownloadNote, events: [DownloadEvent])? {
        guard let note = DownloadNote(status.clientData) else { return nil }
        let entry = Entry(
            task: status.id, gid: note.gid, status: DownloadStatus(status, note), priority: status.priority,
            end: status.endedAt?.timeIntervalSince1970 ?? 0)
        let old = entries.updateValue(entry, forKey: status.id)
        tasks[note.gid] = status.id
        return (note, DownloadEvent.events(from: old?.status, to: entry.status))
    }

    mutating func remove(_ task: TaskID) {
        guard let entry = entries.removeValue(forKey: task), tasks[entry.gid] == task else { return }
        tasks[entry.gid] = nil
    }

    /// Returns the events that lead from an earlier list to this one.
    func events(since earlier: DownloadList) -> [(gid: GID, events: [DownloadEvent])] {
        entries.values.sorted { $0.task < $1.task }.map { entry in
            (entry.gid, DownloadEvent.events(from: earlier[entry.task]?.status, to: entry.status))
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    func isUsed(_ gid: GID) -> Bool { tasks[gid] != nil }

    /// Returns the download with this identifier, or the only one whose identifier begins so.
    func find(_ text: String) throws(RPCError) -> Entry {
        guard let prefix = GID.Prefix(text) else { throw RPCError("Invalid GID \(text)") }
        if let gid = GID(text) {
            guard let task = tasks[gid], let entry = entries[task] else { throw Self.notFound(text) }
            return entry
        }
        let found = tasks.filter { prefix.matches($0.key) }
        guard found.count <= 1 else { throw RPCError("GID \(text) is not unique") }
        guard let task = found.first?.value, let entry = entries[task] else { throw Self.notFound(text) }
        return entry
    }

    private static func notFound(_ text: String) -> RPCError { RPCError("GID \(text) is not found") }

    /// The downloads that run, oldest first.
    var active: [Entry] { entries.values.filter { $0.status == .active }.sorted { $0.task < $1.task } }

    /// The downloads that wait or are paused, in the order in which they would start.
    var queued: [Entry] {
        entries.values.filter(\.status.isQueued).sorted { $0.place.isBefore($1.place) }
    }

    /// The downloads that have ended, in the order of their ends.
    var stopped: [Entry] {
        entries.values.filter(\.status.isStopped).sorted { ($0.end, $0.task) < ($1.end, $1.task) }
    }
}

extension DownloadList.Entry {
    var place: QueueOrder.Place { QueueOrder.Place(id: task, priority: priority) }
}

extension [DownloadList.Entry] {
    /// Returns the part of the list that `tellWaiting` and `tellStopped` return for these parameters. A negative offset
    /// counts from the end, and returns the part in reverse order.
    func part(offset: Int64, count: Int64) -> [DownloadList.Entry] {
        let total = Int64(self.count)
        if offset < 0 {
            // -1 is the last entry.
            let last = total + offset
            guard last >= 0 else { return [] }
            let first = Swift.max(0, last - Swift.min(count, total) + 1)
            return first <= last ? self[Int(clamping: first)...Int(clamping: last)].reversed() : []
        }
        guard offset < total else { return [] }
        let end = offset + Swift.min(count, total - offset)
        return Array(self[Int(clamping: offset)..<Int(clamping: end)])
    }
}
