import Apps
import Location
package import NightshiftAPI

/// Operations of apps' processes over regions, significant changes and the place itself.
extension Operations {
    /// What the process's app has of location.
    package func processLocation(process: Int32, channel: String?) async throws(Problem) -> ProcessLocation {
        try await location.processLocation(of: try caller(process, channel, refusing: .permission))
    }

    /// The process's app wants its user to be asked. Only an app that he sees has him asked; of another one the request is nothing.
    package func requestLocation(
        _ request: LocationAuthorizationRequest, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, channel, refusing: .permission)
        let state = try await apps.app(app).state
        guard state == .active || state == .inactive else { return try await location.processLocation(of: app) }
        return try await location.requestAuthorization(request.permission, for: app)
    }

    /// The places that the process's app asks for while it runs. A user who has not said whether the app may is asked, where he sees
    /// the app.
    package func locationUpdates(
        _ wanted: LocationUpdateRequest, process: Int32, channel: String?
    ) async throws(Problem) -> AsyncStream<LocationUpdate> {
        let app = try await caller(process, channel, refusing: .permission)
        let state = try await apps.app(app).state
        return try await location.updates(wanted, for: app, asksUser: state == .active || state == .inactive)
    }

    /// Watches a region for the process's app, in place of an earlier one of the same identifier.
    package func addRegion(
        _ region: MonitoredRegion, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, channel, refusing: .permission)
        try await location.addRegion(region, for: app)
        return try await location.processLocation(of: app)
    }

    /// Watches it no more; one that is not watched is nothing to complain of.
    package func removeRegion(_ identifier: String, process: Int32, channel: String?) async throws(Problem) {
        try await location.stopMonitoring(identifier, of: try caller(process, channel, refusing: .permission))
    }

    package func setSignificantChanges(
        _ isOn: Bool, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, channel, refusing: .permission)
        try await location.setSignificantChanges(isOn, for: app)
        return try await location.processLocation(of: app)
    }
}
