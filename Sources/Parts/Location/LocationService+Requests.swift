package import NightshiftAPI
import Runtime

/// Location requests of users and apps.
extension LocationService {
    // MARK: - Users

    package func status() async throws(Problem) -> LocationStatus {
        try await readEntries()
        try await ask { state, _ in state.writeAll() }
        await sourcesToBeKnown()
        return state.status(now)
    }

    package func status(of app: AppID) async throws(Problem) -> AppLocationStatus {
        try await readEntries(for: app)
        try await ask { (state, _) throws(Problem) in
            _ = try state.require(app)
            state.writeAll()
        }
        return try known(app)
    }

    package func change(_ app: AppID, _ change: AppLocationChange) async throws(Problem) -> AppLocationStatus {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.change(app, change, now: now) }
        return try known(app)
    }

    /// Monitors a region for an app, and replaces a region with the same identifier.
    package func addRegion(_ region: MonitoredRegion, for app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.addRegion(region, for: app, now: now) }
    }

    package func removeRegion(_ identifier: String, of app: AppID) async throws(Problem) {
        guard try await stopMonitoring(identifier, of: app) else {
            throw .notFound("\(app) does not monitor a region '\(identifier)'.")
        }
    }

    // MARK: - Apps

    /// Stops monitoring a region for an app.
    ///
    /// - Returns: whether the app monitored such a region.
    @discardableResult
    package func stopMonitoring(_ identifier: String, of app: AppID) async throws(Problem) -> Bool {
        try await readEntries(for: app)
        return try await ask { (state, now) throws(Problem) in
            try state.removeRegion(identifier, of: app, now: now)
        }
    }

    package func setSignificantChanges(_ isOn: Bool, for app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in try state.setSignificantChanges(isOn, for: app, now: now) }
    }

    package func processLocation(of app: AppID) async throws(Problem) -> ProcessLocation {
        try await readEntries(for: app)
        await part.written(hooks)
        await sourcesToBeKnown()
        return try state.processLocation(of: app, now)
    }

    /// Asks the user for permission, unless there is already an answer. The answer arrives as a ``LocationNotice``.
    package func requestAuthorization(
        _ permission: LocationPermission, for app: AppID
    ) async throws(Problem) -> ProcessLocation {
        try await readEntries(for: app)
        try await ask { (state, now) throws(Problem) in
            try state.requestAuthorization(permission, for: app, now: now)
        }
        await sourcesToBeKnown()
        return try state.processLocation(of: app, now)
    }

    /// Returns the permission notice for a process that connects; nil if the service has
    /// no location record of the app.
    package func notice(for app: AppID) async -> LocationNotice? { state.notice(for: app) }

    private func known(_ app: AppID) throws(Problem) -> AppLocationStatus {
        guard let status = state.status(of: app, now) else {
            throw .notFound("There is no app '\(app)'.")
        }
        return status
    }
}
