import Apps
import Location
package import NightshiftAPI

/// Operations of app processes that concern regions, significant changes and the location itself.
extension Operations {
    /// Returns the location state of the process's app.
    package func processLocation(by process: CallingProcess) async throws(Problem) -> ProcessLocation {
        try await location.processLocation(of: try caller(process, refusing: .permission))
    }

    /// Requests the user's permission for the process's app. The user is asked only if the app is visible. If it is not
    /// visible, the request does nothing.
    package func requestLocation(
        _ request: LocationAuthorizationRequest, by process: CallingProcess
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, refusing: .permission)
        let state = try await apps.app(app).state
        guard state == .active || state == .inactive else { return try await location.processLocation(of: app) }
        return try await location.requestAuthorization(request.permission, for: app)
    }

    /// Returns a stream of location updates for the process's app while it runs. If the app is visible and the user has
    /// not decided yet, the user is asked first.
    package func locationUpdates(
        _ wanted: LocationUpdateRequest, by process: CallingProcess
    ) async throws(Problem) -> AsyncStream<LocationUpdate> {
        let app = try await caller(process, refusing: .permission)
        let state = try await apps.app(app).state
        return try await location.updates(wanted, for: app, asksUser: state == .active || state == .inactive)
    }

    /// Starts monitoring a region for the process's app. The region replaces an earlier one with the same identifier.
    package func addRegion(
        _ region: MonitoredRegion, by process: CallingProcess
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, refusing: .permission)
        try await location.addRegion(region, for: app)
        return try await location.processLocation(of: app)
    }

    /// Stops monitoring a region. It is not an error if the region is not monitored.
    package func removeRegion(_ identifier: String, by process: CallingProcess) async throws(Problem) {
        try await location.stopMonitoring(identifier, of: try caller(process, refusing: .permission))
    }

    package func setSignificantChanges(
        _ isOn: Bool, by process: CallingProcess
    ) async throws(Problem) -> ProcessLocation {
        let app = try await caller(process, refusing: .permission)
        try await location.setSignificantChanges(isOn, for: app)
        return try await location.processLocation(of: app)
    }
}
