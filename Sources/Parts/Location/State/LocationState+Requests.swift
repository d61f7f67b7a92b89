package import NightshiftAPI
import Scheduler

/// Location requests of apps and users.
extension LocationState {
    // MARK: - Regions

    /// Monitors a region for an app, and replaces a region with the same identifier.
    package mutating func addRegion(_ region: MonitoredRegion, for app: AppID, now: LocationMoment) throws(Problem) {
        try require(app)
        guard !region.identifier.isEmpty, region.identifier.utf8.count <= Limits.regionIdentifierLength else {
            throw .invalid(
                "A region's identifier must have 1 to \(Limits.regionIdentifierLength) bytes.", pointer: "/identifier")
        }
        guard (0...MonitoredRegion.largestRadius).contains(region.radius) else {
            throw .invalid(
                "A region's radius must be 0 to \(Int64(saturating: MonitoredRegion.largestRadius)) metres.",
                pointer: "/radius")
        }
        let known = apps[app]?.regions[region.identifier]
        guard known != nil || apps[app]?.regions.count ?? 0 < Limits.regions else {
            throw .tooManyRegions("\(app) monitors \(Limits.regions) regions, which is the limit.")
        }
        guard known?.region != region else { return }
        know(app)
        apps[app]?.regions[region.identifier] = KnownRegion(region)
        // Events of the old region must not be delivered for the new one.
        if known != nil { cancel(.region(app, region.identifier)) }
        putIntoPlan(app, now)
        note(.regionAdded, app, region.identifier, now)
    }

    /// Removes a region of an app.
    ///
    /// - Returns: whether the region existed.
    @discardableResult
    package mutating func removeRegion(_ identifier: String, of app: AppID, now: LocationMoment) throws(Problem) -> Bool
    {
        try require(app)
        guard apps[app]?.regions.removeValue(forKey: identifier) != nil else { return false }
        plan.remove(identifier, of: app)
        cancel(.region(app, identifier))
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
        if isOn { tellLastPlace(app, now) } else { cancel(.significantChange(app)) }
    }

    // MARK: - Permission

    /// Changes the user's settings for an app.
    package mutating func change(_ app: AppID, _ change: AppLocationChange, now: LocationMoment) throws(Problem) {
        try require(app)
        guard let permission = change.permission else { return }
        set(permission, of: app, now)
    }

    /// Requests permission for an app. The user is not asked while an earlier question is open, or if the user has
    /// already answered.
    package mutating func requestAuthorization(
        _ permission: LocationPermission, for app: AppID, now: LocationMoment
    ) throws(Problem) {
        let manifest = try require(app)
        guard permission == .whenInUse || permission == .always else {
            throw .invalid("The permission must be 'whenInUse' or 'always'.", pointer: "/permission")
        }
        know(app)
        guard asking[app] == nil, let record = apps[app] else { return }
        switch record.permission {
        case .ask: break
        case .whenInUse:
            guard permission == .always, !record.wasAskedForAlways else { return }
            apps[app]?.wasAskedForAlways = true
        case .denied, .always: return
        }
        asking[app] = record.permission
        effects.append(.ask(app, name: manifest.name, reason: manifest.locationReason, permission))
    }

    /// Handles the end of a question about permission.
    ///
    /// - Parameter answer: the user's answer; nil if the user could not be asked, or has not answered.
    package mutating func asked(_ app: AppID, _ answer: LocationPermission?, now: LocationMoment) {
        guard let before = asking.removeValue(forKey: app), let record = apps[app] else { return }
        // Location requests that wait for the answer are updated for every answer.
        defer { updateFollowing(app, now) }
        guard let answer else { return }
        // A setting that the user has made elsewhere in the meantime takes precedence.
        guard record.permission == before, answer != .ask else { return }
        set(answer, of: app, now)
    }

    private mutating func set(_ permission: LocationPermission, of app: AppID, _ now: LocationMoment) {
        let wasAllowed = isAllowed(app)
        guard apps[app]?.permission ?? .ask != permission else { return }
        know(app)
        apps[app]?.permission = permission
        apps[app]?.wasAskedForAlways = false
        note(.locationPermission, app, permission.rawValue, now)
        effects.append(.permission(app))
        putIntoPlan(app, now)
        updateFollowing(app, now)
        if !isWatched(app) { cancel(.all(app)) }
        guard wasAllowed != isAllowed(app) else { return }
        // The earlier events no longer count. The device may have changed sides while monitoring was off, and these
        // changes are not reported later.
        apps[app]?.change = SignificantChange()
        tellLastPlace(app, now)
    }

    // MARK: - Responses

    package func notice(for app: AppID) -> LocationNotice? {
        apps[app].map { LocationNotice(permission: $0.permission) }
    }

    /// Returns the location state for a process of an app.
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
