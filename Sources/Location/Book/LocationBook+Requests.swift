package import NightshiftAPI
import Scheduler

/// What apps and their users ask for.
extension LocationBook {
    // MARK: - Regions

    /// Watches a region, in place of an earlier one of the same identifier.
    package mutating func addRegion(_ region: MonitoredRegion, for app: AppID, now: LocationMoment) throws(Problem) {
        try require(app)
        guard !region.identifier.isEmpty, region.identifier.utf8.count <= Limits.regionIdentifierLength else {
            throw .invalid(
                "A region's identifier has 1 to \(Limits.regionIdentifierLength) bytes.", pointer: "/identifier")
        }
        guard (0...MonitoredRegion.largestRadius).contains(region.radius) else {
            throw .invalid(
                "A region's radius is 0 to \(Int64(saturating: MonitoredRegion.largestRadius)) metres.",
                pointer: "/radius")
        }
        let known = apps[app]?.regions[region.identifier]
        guard known != nil || apps[app]?.regions.count ?? 0 < Limits.regions else {
            throw .tooManyRegions("\(app) watches \(Limits.regions) regions already.")
        }
        guard known?.region != region else { return }
        know(app)
        apps[app]?.regions[region.identifier] = KnownRegion(region)
        // What was crossed of the old one is nothing to tell of the new one.
        if known != nil { cancel(.region(app, region.identifier)) }
        putIntoPlan(app, now)
        marks.apps.insert(app)
        marks.device = true
        note(.regionAdded, app, region.identifier, now)
    }

    /// - Returns: whether there was one.
    @discardableResult
    package mutating func removeRegion(_ identifier: String, of app: AppID, now: LocationMoment) throws(Problem) -> Bool
    {
        try require(app)
        guard apps[app]?.regions.removeValue(forKey: identifier) != nil else { return false }
        plan.remove(identifier, of: app)
        cancel(.region(app, identifier))
        marks.apps.insert(app)
        marks.device = true
        note(.regionRemoved, app, identifier, now)
        return true
    }

    // MARK: - Significant changes

    package mutating func setSignificantChanges(_ isOn: Bool, for app: AppID, now: LocationMoment) throws(Problem) {
        try require(app)
        guard (apps[app]?.monitorsSignificantChanges ?? false) != isOn else { return }
        know(app)
        apps[app]?.monitorsSignificantChanges = isOn
        apps[app]?.change = SignificantChange()
        marks.apps.insert(app)
        if isOn { tellLastPlace(app, now) } else { cancel(.significantChange(app)) }
    }

    // MARK: - Permission

    /// Its user's word.
    package mutating func change(_ app: AppID, _ change: AppLocationChange, now: LocationMoment) throws(Problem) {
        try require(app)
        guard let permission = change.permission else { return }
        set(permission, of: app, now)
    }

    /// The app wants its user to be asked. He is asked at most once at a time, and not at all where he has said it already.
    package mutating func requestAuthorization(
        _ permission: LocationPermission, for app: AppID, now: LocationMoment
    ) throws(Problem) {
        let manifest = try require(app)
        guard permission == .whenInUse || permission == .always else {
            throw .invalid("What can be asked for is 'whenInUse' and 'always'.", pointer: "/permission")
        }
        know(app)
        guard asking[app] == nil, let record = apps[app] else { return }
        switch record.permission {
        case .ask: break
        case .whenInUse:
            guard permission == .always, !record.wasAskedForAlways else { return }
            apps[app]?.wasAskedForAlways = true
            marks.apps.insert(app)
        case .denied, .always: return
        }
        asking[app] = record.permission
        effects.append(.ask(app, name: manifest.name, reason: manifest.locationReason, permission))
    }

    /// Its user was asked.
    ///
    /// - Parameter answer: nil where nobody could ask him, and where he has not answered.
    package mutating func asked(_ app: AppID, _ answer: LocationPermission?, now: LocationMoment) {
        guard let before = asking.removeValue(forKey: app), let record = apps[app] else { return }
        // An app that waits for the answer has it, whatever it is.
        defer { updateFollowing(app, now) }
        guard let answer else { return }
        // What he has said elsewhere meanwhile goes first.
        guard record.permission == before, answer != .ask else { return }
        set(answer, of: app, now)
    }

    private mutating func set(_ permission: LocationPermission, of app: AppID, _ now: LocationMoment) {
        let wasAllowed = isAllowed(app)
        guard apps[app]?.permission ?? .ask != permission else { return }
        know(app)
        apps[app]?.permission = permission
        apps[app]?.wasAskedForAlways = false
        marks.apps.insert(app)
        note(.locationPermission, app, permission.rawValue, now)
        effects.append(.permission(app))
        putIntoPlan(app, now)
        updateFollowing(app, now)
        if !isWatched(app) { cancel(.all(app)) }
        guard wasAllowed != isAllowed(app) else { return }
        // What it was told before says nothing any more, and on which side it was while nobody was to look is not told later.
        marks.device = true
        apps[app]?.change = SignificantChange()
        tellLastPlace(app, now)
    }

    // MARK: - Answers

    package func notice(for app: AppID) -> LocationNotice? {
        apps[app].map { LocationNotice(permission: $0.permission) }
    }

    /// What the process of an app is told.
    package func processLocation(of app: AppID, _ now: LocationMoment) throws(Problem) -> ProcessLocation {
        try require(app)
        let record = apps[app] ?? LocationRecord()
        var location = ProcessLocation(permission: record.permission)
        location.canMonitorRegions = canMonitorRegions
        location.canMonitorSignificantChanges = canMonitorSignificantChanges
        location.regions = regions(of: app)
        location.monitorsSignificantChanges = record.monitorsSignificantChanges
        if isWatched(app), let place { location.place = described(place, now) }
        return location
    }
}
