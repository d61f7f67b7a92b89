package import NightshiftAPI

/// All regions of all apps on one receiver: where the device is goes in, crossings and the next fix come out.
package struct LocationPlan: Hashable, Sendable, Codable {
    private var machines: [AppID: [String: RegionMachine]] = [:]
    /// Apps for which nobody looks now.
    private var paused: Set<AppID> = []
    package private(set) var schedule = FixSchedule()
    /// The last fix, as long as it is of this run of the machine.
    package private(set) var last: Fix?
    /// The receiver's limit, where it was asked for more than it can.
    private var limit: ReceiverLimit?

    /// A boundary that was crossed.
    package struct Event: Hashable, Sendable {
        package var app: AppID
        package var region: MonitoredRegion
        package var crossing: RegionMachine.Crossing
    }

    package init() {}

    /// Starts to watch a region, in place of an earlier one of the same identifier. An unchanged one goes on as it was.
    package mutating func add(_ region: MonitoredRegion, for app: AppID) {
        if machines[app]?[region.identifier]?.region == region { return }
        var machine = RegionMachine(region)
        // What is known already need not be asked again: one that is added while inside it tells nothing.
        if let last { _ = machine.moved(to: last) }
        machines[app, default: [:]][region.identifier] = machine
    }

    package mutating func remove(_ identifier: String, of app: AppID) {
        machines[app]?[identifier] = nil
        if machines[app]?.isEmpty == true { machines[app] = nil }
    }

    package mutating func remove(_ app: AppID) {
        machines[app] = nil
        paused.remove(app)
    }

    /// Stops looking for an app, or looks again; on which side of each boundary the device was stays known.
    package mutating func setPaused(_ isPaused: Bool, _ app: AppID) {
        guard isPaused != paused.contains(app) else { return }
        if isPaused {
            paused.insert(app)
        } else {
            paused.remove(app)
            for identifier in (machines[app] ?? [:]).keys {
                machines[app]?[identifier]?.restarted()
                // The first fix behind a pause is never a crossing.
                if let last { _ = machines[app]?[identifier]?.moved(to: last) }
            }
        }
    }

    /// A place that is older than this says nothing of where the device is now.
    package mutating func forgetPlace(before time: Double) {
        if let place = last, place.time < time { last = nil }
    }

    package var apps: [AppID] { machines.keys.sorted { $0.rawValue < $1.rawValue } }

    package func regions(of app: AppID) -> [MonitoredRegion] {
        (machines[app] ?? [:]).values.map(\.region).sorted { $0.identifier < $1.identifier }
    }

    package func state(of identifier: String, of app: AppID) -> RegionState {
        machines[app]?[identifier]?.state ?? .unknown
    }

    /// The receiver has told where the device is.
    ///
    /// - Parameter wanted: metres of accuracy that it was asked for; nil where nobody asked.
    /// - Returns: the crossings that are certain now and that the regions notify of, in an order that is the same everywhere.
    package mutating func moved(to fix: Fix, wanted: Double? = nil) -> [Event] {
        if let last, fix.time < last.time { return [] }
        last = fix
        if let wanted { limit = ReceiverLimit.learned(limit, from: fix, wanted: wanted) }
        schedule.moved(to: fix)
        var events: [Event] = []
        for app in apps where !paused.contains(app) {
            for identifier in (machines[app] ?? [:]).keys.sorted() {
                guard let crossing = machines[app]?[identifier]?.moved(to: fix, finest: limit?.accuracy),
                    let region = machines[app]?[identifier]?.region
                else { continue }
                let isWanted = crossing == .entered ? region.notifiesOnEntry : region.notifiesOnExit
                if isWanted { events.append(Event(app: app, region: region, crossing: crossing)) }
            }
        }
        return events
    }

    /// When the next fix is due, on the clock of fixes; nil where nothing is watched and the receiver may stay off.
    package var due: Double? { machines.keys.compactMap { due(of: $0) }.min() }

    /// The same for the regions of one app.
    package func due(of app: AppID) -> Double? {
        let watched = watched(of: app)
        guard !watched.isEmpty else { return nil }
        let distance = last.map { fix in watched.map { $0.distanceToChange(from: fix) }.min() ?? 0 } ?? 0
        return schedule.due(distance: distance, confirmation: watched.compactMap(\.confirmation).min())
    }

    /// Metres of accuracy that the next fix for an app has to have: as fine as its boundaries far off need, and the nearest one
    /// to be crossed for certain; nil where nothing is watched.
    package func accuracy(of app: AppID) -> Double? {
        let machines = watched(of: app)
        // One that no place decides keeps the receiver on for nothing.
        let usable = machines.filter { machine in limit.map { !machine.isTooSmall(for: $0.accuracy) } ?? true }
        let wanted = (usable.isEmpty ? machines : usable).map { machine in
            let near = machine.wantedAccuracy
            guard let last else { return near }
            return max(near, min(Self.coarsest, machine.distanceToChange(from: last) / 4))
        }.min()
        // A little better than the receiver can would keep it on for as long as anybody waits.
        return wanted.map { wanted in limit?.accuracy(for: wanted, at: last?.time) ?? wanted }
    }

    /// Metres that the receiver tells at best, where a region is too small for them; nil where it is not.
    package func accuracyTooCoarse(for identifier: String, of app: AppID) -> Double? {
        guard let machine = machines[app]?[identifier], let limit, machine.isTooSmall(for: limit.accuracy) else {
            return nil
        }
        return limit.accuracy
    }

    /// Metres: what is coarser is of no use for the next decision.
    private static let coarsest = 1_000.0

    private func watched(of app: AppID) -> [RegionMachine] {
        paused.contains(app) ? [] : Array((machines[app] ?? [:]).values)
    }

    /// The clock of fixes began anew, with the machine; on which side of each boundary the device was stays known.
    package mutating func restarted() {
        last = nil
        limit?.restarted()
        schedule.restarted()
        for app in machines.keys {
            for identifier in (machines[app] ?? [:]).keys { machines[app]?[identifier]?.restarted() }
        }
    }
}
