import Apps
import Location
package import NightshiftAPI

/// Operations of apps' processes over regions and significant changes.
extension Operations {
    /// What the process's app has of location.
    package func processLocation(process: Int32, channel: String?) async throws(Problem) -> ProcessLocation {
        try await location.processLocation(of: try located(process, channel))
    }

    /// The process's app wants its user to be asked. Only an app that he sees has him asked; of another one the request is nothing.
    package func requestLocation(
        _ request: LocationAuthorizationRequest, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await located(process, channel)
        let state = try await apps.app(app).state
        guard state == .active || state == .inactive else { return try await location.processLocation(of: app) }
        return try await location.requestAuthorization(request.permission, for: app)
    }

    /// Watches a region for the process's app, in place of an earlier one of the same identifier.
    package func addRegion(
        _ region: MonitoredRegion, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await located(process, channel)
        try await location.addRegion(region, for: app)
        return try await location.processLocation(of: app)
    }

    /// Watches it no more; one that is not watched is nothing to complain of.
    package func removeRegion(_ identifier: String, process: Int32, channel: String?) async throws(Problem) {
        try await location.stopMonitoring(identifier, of: try located(process, channel))
    }

    package func setSignificantChanges(
        _ isOn: Bool, process: Int32, channel: String?
    ) async throws(Problem) -> ProcessLocation {
        let app = try await located(process, channel)
        try await location.setSignificantChanges(isOn, for: app)
        return try await location.processLocation(of: app)
    }

    /// The app of a process, which has to be one with an entry: its user gives his permission to that.
    private func located(_ process: Int32, _ channel: String?) async throws(Problem) -> AppID {
        let app = try await apps.connectedProcess(process, channel: channel).app
        guard !app.isProgram else {
            throw .forbidden(
                "\(app) has no desktop entry, so nothing can be permitted to it. 'nightshift app install FILE' installs "
                    + "one.")
        }
        return app
    }
}
