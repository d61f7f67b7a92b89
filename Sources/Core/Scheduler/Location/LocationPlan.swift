package import NightshiftAPI

/// All regions of all apps on one receiver. It takes fixes, and returns region events and the time of the next fix.
package struct LocationPlan: Hashable, Sendable, Codable {
    private var machines: [AppID: [String: RegionMachine]] = [:]
    /// The apps whose monitoring is paused.
    private var paused: Set<AppID> = []
    package private(set) var schedule = FixSchedule()
    /// The last fix, if it is from the current boot.
    package private(set) var last: Fix?
    /// The receiver's limit, if it was asked for more accuracy than it can provide.
    private var limit: ReceiverLimit?

    /// A region event: the device crossed a boundary.
    package struct Event: Hashable, Sendable {
        package var app: AppID
        package var region: MonitoredRegion
        package var crossing: RegionMachine.Crossing
    }

    package init() {}

    /// Starts to monitor a region, and replaces an earlier region with the same identifier. A region that has not
    /// changed keeps its state.
    package mutating func add(_ region: MonitoredRegion, for app: AppID) {
        if machines[app]?[region.identifier]?.region == region { return }
        var machine = RegionMachine(region)
        // The last fix sets the initial state. If the device is already inside, adding a region reports no region
        // event.
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

    /// Pauses or resumes the monitoring of an app. The side of each boundary on which the device is stays known.
    package mutating func setPaused(_ isPaused: Bool, _ app: AppID) {
        guard isPaused != paused.contains(app) else { return }
        if isPaused {
            paused.insert(app)
        } else {
            paused.remove(app)
            for identifier in (machines[app] ?? [:]).keys {
                machines[app]?[identifier]?.restarted()
                // The first fix after a pause never counts as a region event.
                if let last { _ = machines[app]?[identifier]?.moved(to: last) }
            }
        }
    }

    /// Discards the last fix if it is older than `time`, because it no longer describes the current location.
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

    /// Records a fix from the receiver.
    ///
    /// - Parameter wanted: the requested accuracy in metres; nil if none was requested.
    /// - Returns: the confirmed region events that apps want to be notified of, in a deterministic order.
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

    /// The time of the next fix, on the clock of fixes; nil if no region is monitored and the receiver may stay off.
    package var due: Double? { machines.keys.compactMap { due(of: $0) }.min() }

    /// Returns the time of the next fix for the regions of one app.
    package func due(of app: AppID) -> Double? {
        let watched = watched(of: app)
        guard !watched.isEmpty else { return nil }
        let distance = last.map { fix in watched.map { $0.distanceToChange(from: fix) }.min() ?? 0 } ?? 0
        return schedule.due(distance: distance, confirmation: watched.compactMap(\.confirmation).min())
    }

    /// Returns the accuracy in metres that the next fix for an app needs. Far from every boundary, less accuracy is
    /// enough. Near a boundary, the accuracy must confirm a region event. Nil if no region is monitored.
    package func accuracy(of app: AppID) -> Double? {
        let machines = watched(of: app)
        // A region that is too small for the receiver would keep the receiver on without any benefit.
        let usable = machines.filter { machine in limit.map { !machine.isTooSmall(for: $0.accuracy) } ?? true }
        let wanted = (usable.isEmpty ? machines : usable).map { machine in
            let near = machine.wantedAccuracy
            guard let last else { return near }
            return max(near, min(Self.coarsest, machine.distanceToChange(from: last) / 4))
        }.min()
        // A request that is slightly beyond the receiver's limit would keep the receiver on until the request times
        // out.
        return wanted.map { wanted in limit?.accuracy(for: wanted, at: last?.time) ?? wanted }
    }

    /// Returns the receiver's best accuracy in metres if the region is too small for it; nil otherwise.
    package func accuracyTooCoarse(for identifier: String, of app: AppID) -> Double? {
        guard let machine = machines[app]?[identifier], let limit, machine.isTooSmall(for: limit.accuracy) else {
            return nil
        }
        return limit.accuracy
    }

    /// The coarsest requested accuracy in metres. Coarser fixes are of no use for the next decision.
    private static let coarsest = 1_000.0

    private func watched(of app: AppID) -> [RegionMachine] {
        paused.contains(app) ? [] : Array((machines[app] ?? [:]).values)
    }

    /// Returns whether another plan has the same regions, with the device on the same sides of their boundaries.
    package func hasSameSides(as other: LocationPlan) -> Bool {
        machines == other.machines
            || machines.count == other.machines.count
                && machines.allSatisfy { app, regions in
                    let others = other.machines[app] ?? [:]
                    return regions.count == others.count
                        && regions.allSatisfy { identifier, machine in
                            others[identifier].map { $0.region == machine.region && $0.state == machine.state } ?? false
                        }
                }
    }

    /// Handles a restart of the clock of fixes after a boot. The side of each boundary on which the device is stays
    /// known.
    package mutating func restarted() {
        last = nil
        limit?.restarted()
        schedule.restarted()
        for app in machines.keys {
            for identifier in (machines[app] ?? [:]).keys { machines[app]?[identifier]?.restarted() }
        }
    }
}
