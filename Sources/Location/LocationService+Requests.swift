import Books
package import NightshiftAPI

/// What people and apps ask for.
extension LocationService {
    // MARK: - People

    package func status() async throws(Problem) -> LocationStatus {
        try await readEntries()
        try await ask { book, _ in book.writeAll() }
        await sourcesToBeKnown()
        return book.status(now)
    }

    package func status(of app: AppID) async throws(Problem) -> AppLocationStatus {
        try await readEntries(for: app)
        try await ask { (book, _) throws(Problem) in
            _ = try book.require(app)
            book.writeAll()
        }
        return try known(app)
    }

    package func change(_ app: AppID, _ change: AppLocationChange) async throws(Problem) -> AppLocationStatus {
        try await readEntries(for: app)
        try await ask { (book, now) throws(Problem) in try book.change(app, change, now: now) }
        return try known(app)
    }

    /// Watches a region for an app, in place of an earlier one of the same identifier.
    package func addRegion(_ region: MonitoredRegion, for app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (book, now) throws(Problem) in try book.addRegion(region, for: app, now: now) }
    }

    package func removeRegion(_ identifier: String, of app: AppID) async throws(Problem) {
        guard try await stopMonitoring(identifier, of: app) else {
            throw .notFound("\(app) watches no region '\(identifier)'.")
        }
    }

    // MARK: - Apps

    /// - Returns: whether the app has watched such a region.
    @discardableResult
    package func stopMonitoring(_ identifier: String, of app: AppID) async throws(Problem) -> Bool {
        try await readEntries(for: app)
        return try await ask { (book, now) throws(Problem) in
            try book.removeRegion(identifier, of: app, now: now)
        }
    }

    package func setSignificantChanges(_ isOn: Bool, for app: AppID) async throws(Problem) {
        try await readEntries(for: app)
        try await ask { (book, now) throws(Problem) in try book.setSignificantChanges(isOn, for: app, now: now) }
    }

    package func processLocation(of app: AppID) async throws(Problem) -> ProcessLocation {
        try await readEntries(for: app)
        await kept.written()
        await sourcesToBeKnown()
        return try book.processLocation(of: app, now)
    }

    /// Has the app's user asked, where he has not said it yet. The answer comes by ``LocationNotice``.
    package func requestAuthorization(
        _ permission: LocationPermission, for app: AppID
    ) async throws(Problem) -> ProcessLocation {
        try await readEntries(for: app)
        try await ask { (book, now) throws(Problem) in
            try book.requestAuthorization(permission, for: app, now: now)
        }
        await sourcesToBeKnown()
        return try book.processLocation(of: app, now)
    }

    /// What a process of the app that connects is told; nil where the app has asked for nothing yet.
    package func notice(for app: AppID) async -> LocationNotice? { book.notice(for: app) }

    private func known(_ app: AppID) throws(Problem) -> AppLocationStatus {
        guard let status = book.status(of: app, now) else {
            throw .notFound("There is no app '\(app)'.")
        }
        return status
    }
}
