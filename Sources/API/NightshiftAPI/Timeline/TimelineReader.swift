package import Foundation

/// A reader that builds a timeline from the journal.
///
/// The journal may begin in the middle of an activity. Only the activity that the journal contains is drawn.
package struct TimelineReader {
    private var timeline: Timeline
    private let onlyApps: Set<AppID>
    private var device: DeviceTrack
    private var apps: [AppID: AppTrack] = [:]
    /// The apps, in the order in which the journal first mentions them.
    private var order: [AppID] = []
    private var transfers: TransferTracks
    /// The times before which the use of apps is unknown: the beginning, each start of the service, and each deletion
    /// of the learned use.
    private var unknownUntil: [Date]
    private var forgotten: [AppID: Date] = [:]

    private struct AppTrack {
        var states: Track<Timeline.AppActivity>
        /// The app's activity at the end of the last run of the service.
        var left: Timeline.AppActivity?
        var open: [(name: String, since: Date)] = []
        var tasks: [Timeline.Span<String>] = []
        var marks: [Timeline.Mark] = []
        var refresh: RefreshTrack

        mutating func endRun(at time: Date, nextAt next: Date) {
            left = states.current
            states.change(to: nil, at: time)
            refresh.end(at: time, nextAt: next)
        }
    }

    /// Returns the timeline of journal entries.
    ///
    /// - Parameters:
    ///   - entries: the entries in order.
    ///   - span: the time to draw; nil for the time from the first entry to the last.
    ///   - apps: the apps to draw; empty for all apps.
    ///   - current: the present state of the device, if the journal is that of a running service.
    package static func timeline(
        _ entries: [JournalEntry], span: DateInterval? = nil, apps: Set<AppID> = [], current: DeviceStatus? = nil
    ) -> Timeline {
        let entries = entries.startsFirst
        let first = entries.map(\.time).min() ?? .distantPast
        let last = entries.map(\.time).max() ?? first
        var reader = TimelineReader(from: span?.start ?? first, to: span?.end ?? last, apps: apps)
        reader.begin(entries, current)
        for index in entries.indices {
            reader.readBoundary(entries, at: index, current)
            reader.read(entries[index])
        }
        return reader.finish()
    }

    private init(from start: Date, to end: Date, apps: Set<AppID>) {
        timeline = Timeline(start: start, end: max(end, start.addingTimeInterval(1)))
        onlyApps = apps
        device = DeviceTrack(from: start)
        transfers = TransferTracks(start: start)
        unknownUntil = [start]
    }

    // MARK: - Known state

    /// Begins with the known state. If the first entry is not a start of the service, the service was running before
    /// it.
    private mutating func begin(_ entries: [JournalEntry], _ current: DeviceStatus?) {
        guard entries.first.map({ $0.decision != .serviceStarted }) ?? (current != nil) else { return }
        let isFirst = entries.first?.id == 1
        device.begin(
            KnownDevice(before: entries[...], current: current),
            at: isFirst ? entries.first?.time ?? timeline.start : timeline.start)
    }

    /// Handles entries that change what is known: a start of the service, and a deletion of the learned use.
    private mutating func readBoundary(_ entries: [JournalEntry], at index: Int, _ current: DeviceStatus?) {
        let (entry, time) = (entries[index], entries[index].time)
        switch entry.decision {
        case .serviceStarted:
            // The time from the last entry of the previous run to its end is unknown.
            if index > 0 { endRun(at: entries[index - 1].time, nextAt: time) }
            guard index == 0 || entries[index - 1].time < time else { return }
            unknownUntil.append(time)
            device.begin(KnownDevice(startOf: entries[index...], phase: device.phase, current: current), at: time)
        case .learnedForgotten:
            if let app = entry.app {
                forgotten[app] = time
                apps[app]?.refresh.forget(at: time)
            } else {
                unknownUntil.append(time)
                for id in order { apps[id]?.refresh.forget(at: time) }
                device.forget(KnownDevice(before: entries[(index + 1)...], current: current), at: time)
            }
        default: break
        }
    }

    private mutating func endRun(at time: Date, nextAt next: Date) {
        guard time < next else { return }
        device.end(at: time)
        transfers.interrupt(from: time, to: next)
        for id in order {
            apps[id]?.endRun(at: time, nextAt: next)
        }
    }

    private mutating func read(_ entry: JournalEntry) {
        if device.read(entry) || entry.decision == .learnedForgotten { return }
        guard onlyApps.isEmpty || entry.app.map({ onlyApps.contains($0) }) ?? false else { return }
        if let task = entry.task {
            transfers.read(entry, task)
        } else if let app = entry.app {
            read(entry, of: app)
        }
    }

    // MARK: - Apps

    private mutating func read(_ entry: JournalEntry, of app: AppID) {
        if apps[app] == nil {
            let known = [forgotten[app], unknownUntil.last].compactMap(\.self).max() ?? timeline.start
            apps[app] = AppTrack(states: Track(from: timeline.start), refresh: RefreshTrack(from: known))
            order.append(app)
        }
        let time = entry.time
        switch entry.decision {
        case .appEntered:
            let state = entry.detail.flatMap(AppState.init(rawValue:))
            apps[app]?.states.change(to: state.flatMap(Self.activity), at: time)
        case .appAdopted:
            // The previous run may have left the app suspended. After the service has adopted the app, the app runs.
            let left = apps[app]?.left
            apps[app]?.states.change(to: left == .suspended || left == .standing ? .background : left, at: time)
        case .appWoken:
            apps[app]?.states.change(to: .background, at: time)
            mark(.woken, entry, app)
        case .stintBegan, .backgroundTimeResumed:
            apps[app]?.states.change(to: .background, at: time)
        case .backgroundTimeStopped:
            apps[app]?.states.change(to: .standing, at: time)
        case .backgroundTimeExpiring, .wakeExpiring: mark(.expiring, entry, app)
        case .backgroundTaskBegan:
            apps[app]?.open.append((entry.detail ?? "", time))
        case .backgroundTaskEnded: endTask(entry.detail ?? "", app, at: time)
        case .taskBegan where !entry.isOfRefresh: apps[app]?.open.append((entry.detail ?? "", time))
        case .taskEnded where !entry.isOfRefresh:
            // The detail contains the identifier, and after it the result.
            let words = entry.detail ?? ""
            let name = apps[app]?.open.first { words == $0.name || words.hasPrefix($0.name + ": ") }?.name
            if let name { endTask(name, app, at: time) }
        case .useBegan, .useEnded, .fetchBegan, .fetchEnded, .taskBegan, .taskEnded:
            apps[app]?.refresh.read(entry)
        case .appEnded:
            apps[app]?.states.change(to: nil, at: time)
            for task in apps[app]?.open ?? [] { endTask(task.name, app, at: time) }
            if Self.isKill(entry) { mark(.killed, entry, app) }
        default: break
        }
    }

    /// Returns whether the service ended the app because of an error. Such causes have a code.
    private static func isKill(_ entry: JournalEntry) -> Bool {
        entry.inputs?["cause"].flatMap(ExitCause.init(rawValue:))?.code != nil
    }

    private static func activity(_ state: AppState) -> Timeline.AppActivity? {
        switch state {
        case .notRunning: nil
        case .inactive: .inactive
        case .active: .active
        case .background: .background
        case .suspended: .suspended
        }
    }

    private mutating func mark(_ kind: Timeline.Mark.Kind, _ entry: JournalEntry, _ app: AppID) {
        let note = entry.detail.map { "\(entry.decision.sentence) \($0)" } ?? entry.decision.sentence
        apps[app]?.marks.append(Timeline.Mark(at: entry.time, kind: kind, note: note))
    }

    private mutating func endTask(_ name: String, _ app: AppID, at time: Date) {
        guard let index = apps[app]?.open.firstIndex(where: { $0.name == name }),
            let task = apps[app]?.open.remove(at: index)
        else { return }
        apps[app]?.tasks.append(Timeline.Span(from: task.since, to: max(time, task.since), value: name))
    }

    // MARK: - The end

    private mutating func finish() -> Timeline {
        let end = timeline.end
        device.finish(&timeline)
        for id in order {
            for task in apps[id]?.open ?? [] { endTask(task.name, id, at: end) }
            guard var track = apps[id] else { continue }
            timeline.apps.append(
                Timeline.AppRow(
                    id: id, states: track.states.finish(at: end), tasks: track.tasks.sorted { $0.from < $1.from },
                    marks: track.marks, refresh: track.refresh.finish(at: end, unknownUntil: unknownUntil)))
        }
        (timeline.transfers, timeline.hidden) = transfers.rows(until: end)
        return timeline
    }
}

extension [JournalEntry] {
    /// The entries, with each start of the service moved before the first device state of that run.
    ///
    /// The service records the device state first, because transfers need it. It records its own start after it has
    /// read the transfers.
    fileprivate var startsFirst: [JournalEntry] {
        var result: [JournalEntry] = []
        var found: Int?
        for entry in self {
            if entry.decision == .serviceStarted, let index = found {
                var start = entry
                (start.id, start.time) = (result[index].id, result[index].time)
                result[index].id = entry.id
                result.insert(start, at: index)
                found = nil
            } else {
                if entry.describesWholeDevice { found = result.count }
                result.append(entry)
            }
        }
        return result
    }
}

extension JournalEntry {
    /// Whether the entry contains all conditions of the device. The first entry of a run does.
    fileprivate var describesWholeDevice: Bool {
        let wanted: Set<String> = ["power", "network", "idle", "sleeping"]
        return decision == .deviceChanged && wanted.isSubset(of: (inputs ?? [:]).keys)
    }
}
