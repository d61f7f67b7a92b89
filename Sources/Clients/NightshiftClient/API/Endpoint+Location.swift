package import NightshiftAPI

// These requests concern regions and significant changes. Some are for people, and some are for an app's process.

extension Endpoint where Answer == LocationStatus {
    package static var location: Self { Self(.get, APIPath("location")) }
}

extension Endpoint where Answer == AppLocationStatus {
    package static func location(of id: AppID) -> Self { Self(.get, APIPath("location", id.rawValue)) }

    package static func changeLocation(of id: AppID, _ change: AppLocationChange) -> Self {
        Self(.patch, APIPath("location", id.rawValue), change)
    }

    /// Adds a region for an app, or replaces the region with the same identifier.
    package static func add(_ region: MonitoredRegion, for id: AppID) -> Self {
        Self(.put, APIPath("location", id.rawValue, "regions", region.identifier), region)
    }
}

extension Endpoint where Answer == ProcessLocation {
    /// A request for the location state of the calling app.
    package static var processLocation: Self { Self(.get, APIPath("process", "location")) }

    /// Asks the user for permission.
    package static func requestLocation(_ request: LocationAuthorizationRequest) -> Self {
        Self(.post, APIPath("process", "location", "authorization"), request)
    }

    package static func monitor(_ region: MonitoredRegion) -> Self {
        Self(.put, APIPath("process", "location", "regions", region.identifier), region)
    }

    package static var monitorSignificantChanges: Self {
        Self(.put, APIPath("process", "location", "significant-changes"))
    }
}

extension Endpoint where Answer == Void {
    package static func removeRegion(_ identifier: String, of id: AppID) -> Self {
        Self(.delete, APIPath("location", id.rawValue, "regions", identifier))
    }

    package static func stopMonitoring(_ identifier: String) -> Self {
        Self(.delete, APIPath("process", "location", "regions", identifier))
    }

    package static var stopMonitoringSignificantChanges: Self {
        Self(.delete, APIPath("process", "location", "significant-changes"))
    }
}
