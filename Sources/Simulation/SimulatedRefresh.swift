import NightshiftAPI
import Refresh
import Scheduler
import Store

/// Simulated background refresh: the service's own state, and the work that its actor and the store do in the service.
struct SimulatedRefresh {
    var book: RefreshState
    /// Whether an event has happened since the last decision.
    var isToLook = false
    /// The events about apps that the refresh state has not received yet, in order.
    var calls: [AppCall] = []
    /// The ends of wakes that were not processed yet.
    private(set) var ends: [RefreshEnd] = []
    var totals = RefreshTotals()
    /// Whether any app of the trace has fetches or submits tasks.
    let takesPart: Bool
    private var lastEnd: Int64 = 0
    private var lastWake: Int64 = 0

    /// Creates the state. Every app of a trace is installed from the start, and its desktop entry declares everything
    /// that the app does.
    init(_ trace: Trace, now: LocalMoment) {
        book = RefreshState(now: now)
        var manifests: [AppID: AppManifest] = [:]
        for line in trace.lines {
            guard let id = line.app else { continue }
            var manifest =
                manifests[id] ?? AppManifest(id: id, name: id.rawValue, entry: "the trace", command: [id.rawValue])
            if line.behaviour?.fetchInterval != nil { manifest.modes.insert(.fetch) }
            if let submission = line.submit {
                manifest.modes.insert(submission.kind == .processing ? .processing : .fetch)
                if !manifest.taskIdentifiers.contains(submission.identifier) {
                    manifest.taskIdentifiers.append(submission.identifier)
                }
            }
            manifests[id] = manifest
        }
        takesPart = manifests.values.contains { !$0.modes.isEmpty }
        book.read(manifests.values.sorted { $0.id.rawValue < $1.id.rawValue }, now: now)
    }

    /// Returns the row of a wake, in the form in which the store keeps it.
    mutating func row(_ wake: RefreshWake, _ now: ClockReading) -> WantedWake {
        lastWake += 1
        return WantedWake(
            app: wake.app, reason: wake.source == .processing ? .processing : .fetch, key: wake.key, through: lastWake,
            payload: wake.task.flatMap { try? JSON.encode($0) }, expires: wake.timeout.map { now.bootSeconds + $0 })
    }

    /// Adds the end of a wake, in the form in which the store keeps it.
    mutating func add(_ wake: WantedWake, _ end: WakeEnd, bytes: Int64) {
        lastEnd += 1
        let row = StoredWakeEnd(
            id: lastEnd, app: wake.app, source: wake.source, key: wake.key, wake: wake.through, end: end)
        ends.append(RefreshEnd(row: row, bytes: bytes))
    }

    mutating func takeEnds(_ now: LocalMoment) {
        let ends = ends
        self.ends = []
        guard !ends.isEmpty else { return }
        for end in ends { count(end.row) }
        book.take(ends, now: now)
        isToLook = true
    }

    // MARK: - Totals

    private mutating func count(_ end: StoredWakeEnd) {
        switch (end.source, end.end.result) {
        case (.processing, .failed), (_, nil): break
        case (.processing, _): totals.processed += 1
        case (_, .newData): totals.newData += 1
        case (_, .noData): totals.noData += 1
        case (_, .failed): totals.failed += 1
        }
    }

    /// Counts an opening of an app with fetches, and whether its content is fresh.
    mutating func countOpening(_ app: AppID, _ now: LocalMoment) {
        guard book.manifests[app]?.modes.contains(.fetch) == true, book.planner.apps[app]?.usage.isInUse != true else {
            return
        }
        totals.openings += 1
        if book.planner.apps[app]?.isFresh(now) == true { totals.freshOpenings += 1 }
    }

    mutating func count(_ wake: RefreshWake) {
        guard wake.source == .fetch else {
            totals.processing += 1
            return
        }
        totals.fetches += 1
        if book.apps[wake.app]?.wokeDevice == true { totals.deviceWakes += 1 } else { totals.savedWakes += 1 }
    }
}

/// An event about an app, for the features of the service.
enum AppCall {
    case use(AppID, isInFront: Bool)
    case forceQuit(AppID)
    case launched(AppID)
}
