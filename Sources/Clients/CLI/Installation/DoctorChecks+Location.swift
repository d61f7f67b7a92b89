import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Checks for apps that monitor the location without a source or without the user's permission.
    func checkLocation() async -> Finding {
        guard let status = try? await invocation.service.client.send(.location) else {
            return .warn("location", "the service did not report the location sources")
        }
        return Self.finding(status)
    }

    static func finding(_ status: LocationStatus) -> Finding {
        let watching = status.apps.filter { !$0.regions.isEmpty || $0.monitorsSignificantChanges }
        let silent = status.sources.filter { $0.isSilent == true }
        let available = status.sources.filter(\.isAvailable).map(\.name)
        if available.isEmpty, let app = watching.first(where: { $0.permission != .denied }) {
            return .warn(
                "location", "\(app.app) monitors the location, but no location source is available",
                advice: silent.isEmpty
                    ? "Install gpsd for a satellite receiver, or geoclue-2.0 for the location by network. For a test, "
                        + "run: nightshift device set location=LAT,LON"
                    : silent.map(\.sentence).joined(separator: " "))
        }
        if let source = silent.first {
            return .warn("location", "\(source.name) does not respond", advice: source.sentence)
        }
        if let app = watching.first(where: { $0.permission == .ask }) {
            return .warn(
                "location", "\(app.app) monitors the location, but you have not decided whether it may",
                advice: "Run: nightshift app location \(app.app) --always, or with --deny")
        }
        let sources = available.isEmpty ? "no source" : "from " + available.joined(separator: ", ")
        let count = watching.count { $0.permission == .always || $0.permission == .whenInUse }
        return .ok("location", "\(sources), for \(count) \(count == 1 ? "app" : "apps")")
    }
}
