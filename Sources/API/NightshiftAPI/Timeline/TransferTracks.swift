import Foundation

/// A reader that builds rows of transfers from the journal: one per transfer, or one per app if there are many.
package struct TransferTracks {
    private let start: Date
    private var tracks: [TaskID: TransferTrack] = [:]

    /// The maximum number of rows that leaves the picture readable.
    package static let mostRows = 12

    private struct TransferTrack {
        var app: AppID?
        var activity: Track<Timeline.TransferActivity>
        var end: String?
    }

    init(start: Date) {
        self.start = start
    }

    mutating func read(_ entry: JournalEntry, _ task: TaskID) {
        if entry.decision == .accepted {
            for id in Self.accepted(entry, task) {
                tracks[id] = TransferTrack(app: entry.app, activity: Track(from: start))
                tracks[id]?.activity.change(to: .waiting, at: entry.time, note: "Accepted.")
            }
            return
        }
        if tracks[task] == nil { tracks[task] = TransferTrack(app: entry.app, activity: Track(from: start)) }
        switch entry.decision {
        case .started, .continued, .restarted, .uploadKept, .uploadContinued, .uploadRestarted:
            tracks[task]?.activity.change(to: .running, at: entry.time)
        case .held:
            let reason = entry.wait.map { "\($0.reason.sentence) \($0.detail ?? "")" }
            // A wait for a different reason becomes a separate span.
            tracks[task]?.activity.change(to: nil, at: entry.time)
            tracks[task]?.activity.change(to: .waiting, at: entry.time, note: reason)
        case .completed, .failed, .cancelled, .removed, .suspended:
            tracks[task]?.activity.change(to: nil, at: entry.time)
        case .resumed, .retargeted, .retried:
            tracks[task]?.activity.change(to: .waiting, at: entry.time)
        default: break
        }
    }

    /// Handles the end of a run of the service. After the next start, transfers that have not ended wait.
    mutating func interrupt(from: Date, to: Date) {
        for id in tracks.keys where tracks[id]?.activity.current != nil {
            tracks[id]?.activity.change(to: nil, at: from)
            tracks[id]?.activity.change(to: .waiting, at: to)
        }
    }

    /// Returns the ids of the transfers that were accepted together, from text such as "Transfers 3 to 7." Earlier
    /// versions of the service wrote "Tasks 3 to 7."
    private static func accepted(_ entry: JournalEntry, _ first: TaskID) -> [TaskID] {
        guard let words = entry.detail?.split(separator: " "), words.count == 4,
            ["Transfers", "Tasks"].contains(words[0]), let last = Int64(words[3].dropLast()), first.rawValue > 0,
            last > first.rawValue, last - first.rawValue < Limits.tasksPerRequest
        else { return [first] }
        return (first.rawValue...last).map { TaskID($0) }
    }

    /// Returns the rows, and the number of transfers that are not in any row.
    mutating func rows(until end: Date) -> ([Timeline.TransferRow], hidden: Int) {
        var rows: [(app: AppID?, row: Timeline.TransferRow)] = []
        for id in tracks.keys.sorted() {
            guard var track = tracks[id] else { continue }
            let row = Timeline.TransferRow(
                label: "Transfer \(id)", task: id, count: 1, spans: track.activity.finish(at: end))
            rows.append((track.app, row))
        }
        if rows.count > Self.mostRows { rows = Self.grouped(rows) }
        let shown = rows.prefix(Self.mostRows).map(\.row)
        return (shown, rows.dropFirst(Self.mostRows).reduce(0) { $0 + $1.row.count })
    }

    private static func grouped(
        _ rows: [(app: AppID?, row: Timeline.TransferRow)]
    ) -> [(app: AppID?, row: Timeline.TransferRow)] {
        let groups = Dictionary(grouping: rows) { $0.app }
        let owners = groups.keys.sorted { ($0?.rawValue ?? "") < ($1?.rawValue ?? "") }
        return owners.map { app in
            let members = groups[app] ?? []
            let spans = members.flatMap(\.row.spans)
            let all = TransferActivityUnion.spans(spans)
            let name = app.map { AppLabel.short($0) } ?? "no app"
            return (
                app,
                Timeline.TransferRow(label: "\(name) (\(members.count))", task: nil, count: members.count, spans: all)
            )
        }
    }
}

/// The combined activity of many transfers. It is running while at least one of the transfers runs. Otherwise it is
/// waiting while at least one of them waits.
enum TransferActivityUnion {
    static func spans(
        _ spans: [Timeline.Span<Timeline.TransferActivity>]
    ) -> [Timeline.Span<Timeline.TransferActivity>] {
        let edges = spans.flatMap { span in
            [(time: span.from, kind: span.value, by: 1), (time: span.to, kind: span.value, by: -1)]
        }.sorted { ($0.time, $0.by) < ($1.time, $1.by) }
        guard let first = edges.first else { return [] }
        var track = Track<Timeline.TransferActivity>(from: first.time)
        var running = 0
        var waiting = 0
        for (index, edge) in edges.enumerated() {
            if edge.kind == .running { running += edge.by } else { waiting += edge.by }
            // Changes at the same time are handled together.
            guard index + 1 == edges.count || edges[index + 1].time > edge.time else { continue }
            track.change(
                to: running > 0 ? .running : waiting > 0 ? .waiting : nil, at: edge.time,
                note: running > 0 ? "\(running) run, \(waiting) wait" : "\(waiting) wait")
        }
        return track.finish(at: edges.last?.time ?? first.time)
    }
}

/// The short names of apps in a timeline.
package enum AppLabel {
    /// Returns the last part of an app id in reverse-DNS style. For a program, returns the file name.
    package static func short(_ app: AppID) -> String {
        let separator: Character = app.isProgram ? "/" : "."
        return app.rawValue.split(separator: separator).last.map { String($0) } ?? app.rawValue
    }
}
