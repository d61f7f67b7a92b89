import Foundation
import NightshiftAPI

/// Reads a timeline out of the journal.
///
/// The journal may begin in the middle of things: what it does not tell is not drawn.
struct TimelineReader {
    private var timeline: Timeline
    private let onlyApps: Set<AppID>
    private var conditions: [DeviceKey: String] = [:]
    private var phase: DozePhase
    private var isHeld: Bool
    private var device: Track<Timeline.DeviceActivity>
    private var power: Track<PowerSource>
    private var network: Track<Timeline.NetworkUse>
    private var apps: [AppID: AppTrack] = [:]
    /// Apps in the order in which the journal names them.
    private var order: [AppID] = []
    private var transfers: TransferTracks

    private struct AppTrack {
        var states: Track<Timeline.AppActivity>
        var open: [(name: String, since: Date)] = []
        var tasks: [Timeline.Span<String>] = []
        var marks: [Timeline.Mark] = []
        var refresh: RefreshTrack
    }

    /// - Parameters:
    ///   - entries: in their order.
    ///   - span: what is to be drawn; nil for the time from the first entry to the last.
    ///   - apps: the only ones to draw; empty for all.
    static func timeline(
        _ entries: [JournalEntry], span: DateInterval? = nil, apps: Set<AppID> = []
    ) -> Timeline {
        let first = entries.map(\.time).min() ?? .distantPast
        let last = entries.map(\.time).max() ?? first
        var reader = TimelineReader(entries, from: span?.start ?? first, to: span?.end ?? last, apps: apps)
        for entry in entries { reader.read(entry) }
        return reader.finish()
    }

    private init(_ entries: [JournalEntry], from start: Date, to end: Date, apps: Set<AppID>) {
        timeline = Timeline(start: start, end: max(end, start.addingTimeInterval(1)))
        onlyApps = apps
        phase = Self.firstPhase(entries)
        isHeld =
            entries.first { $0.decision == .deviceHeldAwake || $0.decision == .deviceReleased }.map {
                $0.decision == .deviceReleased
            } ?? false
        // A word that is first told as it changes was the other one before, where there are but two.
        for entry in entries where entry.decision == .deviceChanged {
            for (name, value) in entry.inputs ?? [:] {
                guard let key = DeviceKey(rawValue: name), conditions[key] == nil else { continue }
                conditions[key] = Self.opposites[value]
            }
        }
        device = Track(from: start)
        power = Track(from: start)
        network = Track(from: start)
        transfers = TransferTracks(start: start)
        showDevice(at: start, note: nil)
    }

    private static let opposites = ["yes": "no", "no": "yes", "external": "battery", "battery": "external"]

    /// What doze was before the journal first speaks of it.
    private static func firstPhase(_ entries: [JournalEntry]) -> DozePhase {
        for entry in entries {
            switch entry.decision {
            case .dozeBegan: return .awake
            case .windowOpened, .dozeEnded: return .dozing
            case .windowClosed: return .window
            default: continue
            }
        }
        return .awake
    }

    private mutating func read(_ entry: JournalEntry) {
        if readDevice(entry) { return showDevice(at: entry.time, note: entry.detail) }
        if let task = entry.task {
            guard onlyApps.isEmpty || entry.app.map({ onlyApps.contains($0) }) ?? true else { return }
            return transfers.read(entry, task)
        }
        guard let app = entry.app, onlyApps.isEmpty || onlyApps.contains(app) else { return }
        read(entry, of: app)
    }

    // MARK: - The device

    /// False where the entry is about something else.
    private mutating func readDevice(_ entry: JournalEntry) -> Bool {
        switch entry.decision {
        case .deviceChanged, .serviceStarted:
            for (name, value) in entry.inputs ?? [:] {
                if let key = DeviceKey(rawValue: name) { conditions[key] = value }
            }
        case .deviceSlept: conditions[.sleeping] = "yes"
        case .deviceWoke: conditions[.sleeping] = "no"
        case .networkLost: conditions[.network] = "no"
        case .networkReturned: conditions[.network] = "yes"
        case .deviceHeldAwake: isHeld = true
        case .deviceReleased: isHeld = false
        case .dozeBegan, .windowClosed: phase = .dozing
        case .windowOpened: phase = .window
        case .dozeEnded: phase = .awake
        default: return false
        }
        return true
    }

    private mutating func showDevice(at time: Date, note: String?) {
        device.change(to: activity, at: time, note: note)
        power.change(to: conditions[.power].flatMap(PowerSource.init(rawValue:)), at: time)
        let isKnown = conditions[.interface] != nil || conditions[.network] != nil
        network.change(
            to: isKnown
                ? Timeline.NetworkUse(
                    kind: conditions[.interface].flatMap(NetworkKind.init(rawValue:)),
                    isExpensive: conditions[.expensive] == "yes", isAvailable: conditions[.network] != "no") : nil,
            at: time)
    }

    private var activity: Timeline.DeviceActivity {
        if conditions[.sleeping] == "yes" { return .asleep }
        switch phase {
        case .window: return .window
        case .dozing: return .dozing
        case .awake:
            if conditions[.idle] == "no" { return .inUse }
            return isHeld ? .held : .awake
        }
    }

    // MARK: - Apps

    private mutating func read(_ entry: JournalEntry, of app: AppID) {
        if apps[app] == nil {
            apps[app] = AppTrack(
                states: Track(from: timeline.start), refresh: RefreshTrack(from: timeline.start))
            order.append(app)
        }
        let time = entry.time
        switch entry.decision {
        case .appEntered:
            let state = entry.detail.flatMap(AppState.init(rawValue:))
            apps[app]?.states.change(to: state.flatMap(Self.activity), at: time)
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
            // Behind its identifier stands how it ended.
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

    /// Whether the service ended the app because it went wrong: the causes that have a code.
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
        timeline.device = device.finish(at: end)
        timeline.power = power.finish(at: end)
        timeline.network = network.finish(at: end)
        for id in order {
            for task in apps[id]?.open ?? [] { endTask(task.name, id, at: end) }
            guard var track = apps[id] else { continue }
            timeline.apps.append(
                Timeline.AppRow(
                    id: id, states: track.states.finish(at: end), tasks: track.tasks.sorted { $0.from < $1.from },
                    marks: track.marks, refresh: track.refresh.finish(at: end)))
        }
        (timeline.transfers, timeline.hidden) = transfers.rows(until: end)
        return timeline
    }
}
