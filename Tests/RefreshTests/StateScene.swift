import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store

/// A refresh state over rows that are values. Its changes are written at once, and its wakes end after ten seconds.
/// Times are hours from Monday, 2026-01-05 00:00, and the local time zone is UTC.
struct StateScene {
    var book = RefreshState(now: StateScene.moment(0))
    /// The state that the disk contains.
    private var durable = RefreshState(now: StateScene.moment(0))
    private(set) var rows = StateRows()
    /// The wakes that have begun, with their hours.
    private(set) var begun: [(wake: RefreshWake, hour: Double)] = []
    private(set) var effects: [RefreshEffect] = []
    var seconds = StateScene.start
    /// The result of each wake after `duration` seconds. It is nil if wakes end only when the test ends them.
    var result: RefreshResult? = .newData
    var duration = 10.0
    /// The seconds by which the wall clock is ahead of the elapsed time.
    private var ahead = 0.0
    /// The running wakes with the times of their ends, in seconds since 1970.
    private var ending: [(wake: RefreshWake, at: Double)] = []

    /// The start of the scene: 2026-01-05 00:00 UTC, in seconds since 1970.
    static let start = 1_767_571_200.0
    static let app = AppID(rawValue: "org.example.Feed")
    static let other = AppID(rawValue: "org.example.Mail")

    static func moment(_ hour: Double) -> LocalMoment { LocalMoment(seconds: start + hour * 3_600) }

    var now: LocalMoment { LocalMoment(seconds: seconds) }
    var hour: Double { (seconds - Self.start) / 3_600 }

    static func manifest(
        _ id: AppID = app, modes: Set<BackgroundMode> = [.fetch, .processing], interval: RefreshInterval? = nil,
        tasks: [String] = []
    ) -> AppManifest {
        var manifest = AppManifest(
            id: id, name: "Feed", entry: "/apps/\(id.rawValue).desktop", command: ["/bin/true"])
        manifest.modes = modes
        manifest.fetchInterval = interval
        manifest.taskIdentifiers = tasks
        return manifest
    }

    static func task(_ kind: ScheduledTask.Kind, _ identifier: String = "work", at hour: Double? = nil) -> ScheduledTask
    {
        var task = ScheduledTask(identifier: identifier, kind: kind)
        task.earliestBegin = hour.map { Date(timeIntervalSince1970: start + $0 * 3_600) }
        if kind == .continued { task.title = "Export" }
        return task
    }

    /// Returns an idle device, on external power unless another source is given.
    static func idle(power: PowerSource = .external) -> DeviceState {
        var conditions = DeviceConditions()
        conditions.isIdle = true
        conditions.power = power
        return DeviceState(conditions: conditions)
    }

    // MARK: - Steps

    /// Passes an input to the state, lets the state decide, and writes the changes.
    mutating func step(_ input: (inout RefreshState, LocalMoment) throws -> Void) rethrows {
        try input(&book, now)
        look()
    }

    mutating func look() {
        book.decide(at: now)
        for wake in write() {
            begun.append((wake, hour))
            ending.append((wake, seconds + duration))
        }
        effects += book.takeEffects()
    }

    /// Writes the difference between the state and the disk. Returns the wakes in it.
    @discardableResult
    private mutating func write() -> [RefreshWake] {
        let changes = book.changes(since: durable)
        rows.write(changes)
        book.wrote(book)
        durable = book
        return changes.outputs.compactMap(\.wake)
    }

    mutating func install(_ manifest: AppManifest = manifest()) {
        step { $0.installed(manifest.id, manifest, now: $1) }
    }

    /// Lets time pass. The state decides at its deadlines, and wakes end when they are due.
    mutating func pass(to end: Double) {
        look()
        while let next = next, next < Self.start + end * 3_600 {
            seconds = max(seconds, next)
            endDue()
            look()
        }
        seconds = max(seconds, Self.start + end * 3_600)
        look()
    }

    private var next: Double? {
        [book.nextDeadline, result == nil ? nil : ending.map(\.at).min()].compactMap(\.self).min()
    }

    private mutating func endDue() {
        guard let result else { return }
        for (wake, _) in ending.filter({ $0.at <= seconds }) { end(wake, result) }
    }

    /// Ends a wake, and passes the end to the state.
    mutating func end(_ wake: RefreshWake, _ result: RefreshResult, detail: String? = nil, bytes: Int64 = 1_000) {
        ending.removeAll { $0.wake == wake }
        guard rows.end(wake, WakeEnd(result: result, detail: detail, time: seconds)) else { return }
        let ends = rows.ends.map { RefreshEnd(row: $0, bytes: bytes) }
        step { $0.take(ends, now: $1) }
    }

    /// Sets the wall clock.
    mutating func setClock(ahead days: Double) {
        ahead += days * 86_400
        seconds += days * 86_400
    }

    /// Restarts the service with the stored state.
    mutating func restart(manifests: [AppManifest]? = nil) throws {
        durable = RefreshState(try rows.kept(), now: now)
        var next = durable
        next.apply(book.moment, now: now)
        next.begin(
            manifests ?? Array(book.manifests.values), ends: rows.ends.map { RefreshEnd(row: $0, bytes: 0) },
            wakes: rows.wanted, seen: seconds - Self.start - ahead, now: now)
        book = next
        write()
        _ = book.takeEffects()
    }

    /// Deletes the row of a wake, and stores no end.
    mutating func lose(_ wake: RefreshWake) {
        ending.removeAll { $0.wake == wake }
        rows.lose(wake)
    }

    /// Writes the end of a wake. The service crashes before it has handled the end.
    mutating func endUnheard(_ wake: RefreshWake, _ result: RefreshResult) {
        ending.removeAll { $0.wake == wake }
        _ = rows.end(wake, WakeEnd(result: result, time: seconds))
    }

    // MARK: - Results

    func status(_ app: AppID = app) -> AppRefreshStatus? { book.status(of: app, now) }

    var fetches: [FetchRecord] { status()?.fetches ?? [] }

    /// The identifiers of running tasks.
    var running: [String] { book.tasks.keys.filter(\.isRunning).map(\.identifier).sorted() }

    func entries(_ decision: Decision) -> [JournalEntry] { rows.journal.filter { $0.decision == decision } }
}

/// The rows of the store, in the store's own encoding.
struct StateRows {
    private var apps: [AppID: Data] = [:]
    private var device: Data?
    private(set) var tasks: [StoredScheduledTask.Key: StoredScheduledTask] = [:]
    private(set) var wakes: [RefreshWake] = []
    private(set) var ends: [StoredWakeEnd] = []
    private(set) var journal: [JournalEntry] = []
    private var lastEnd: Int64 = 0

    var known: Set<AppID> { Set(apps.keys) }

    mutating func write(_ changes: RefreshChanges) {
        for case .remove(let app) in changes.outputs {
            apps[app] = nil
            tasks = tasks.filter { $0.key.app != app }
            wakes.removeAll { $0.app == app }
            ends.removeAll { $0.app == app }
        }
        for (key, task) in changes.tasks { tasks[key] = task }
        for (app, record) in changes.apps { apps[app] = try? JSON.encode(record) }
        if let record = changes.device { device = try? JSON.encode(record) }
        for wake in changes.outputs.compactMap(\.wake) {
            wakes.removeAll { ($0.app, $0.source, $0.key) == (wake.app, wake.source, wake.key) }
            wakes.append(wake)
        }
        journal += changes.entries
        if let through = changes.endsThrough { ends.removeAll { $0.id <= through } }
    }

    /// Ends a wake. Returns false if the wake does not exist.
    mutating func end(_ wake: RefreshWake, _ end: WakeEnd) -> Bool {
        guard wakes.contains(wake) else { return false }
        wakes.removeAll { $0 == wake }
        lastEnd += 1
        ends.append(
            StoredWakeEnd(
                id: lastEnd, app: wake.app, source: wake.source, key: wake.key, wake: lastEnd, end: end))
        return true
    }

    mutating func lose(_ wake: RefreshWake) { wakes.removeAll { $0 == wake } }

    var wanted: [WantedWake] {
        wakes.map { WantedWake(app: $0.app, reason: WakeReason($0.source), key: $0.key, through: 1) }
    }

    func kept() throws -> StoredRefresh<RefreshRecord, DeviceRefreshRecord> {
        var kept = StoredRefresh<RefreshRecord, DeviceRefreshRecord>()
        kept.apps = try apps.mapValues { try JSON.decode(RefreshRecord.self, from: $0) }
        kept.device = try device.map { try JSON.decode(DeviceRefreshRecord.self, from: $0) }
        kept.tasks = Array(tasks.values)
        return kept
    }
}
