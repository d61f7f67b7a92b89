import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Apps that watch regions on a device that cannot tell where it is, or without their user's word.
    func checkLocation() async -> Finding {
        guard let status = try? await invocation.service.client.send(.location) else {
            return .warn("location", "the service does not tell what tells where the device is")
        }
        return Self.finding(status)
    }

    static func finding(_ status: LocationStatus) -> Finding {
        let watching = status.apps.filter { !$0.regions.isEmpty || $0.monitorsSignificantChanges }
        let silent = status.sources.filter { $0.isSilent == true }
        let available = status.sources.filter(\.isAvailable).map(\.name)
        if available.isEmpty, let app = watching.first(where: { $0.permission != .denied }) {
            return .warn(
                "location", "\(app.app) watches where the device is, and nothing here tells that",
                advice: silent.isEmpty
                    ? "Install gpsd for a receiver or geoclue-2.0 for the network's word; for a trial: "
                        + "nightshift device set location=LAT,LON"
                    : silent.map(\.sentence).joined(separator: " "))
        }
        if let source = silent.first {
            return .warn("location", "\(source.name) does not answer", advice: source.sentence)
        }
        if let app = watching.first(where: { $0.permission == .ask }) {
            return .warn(
                "location", "\(app.app) watches where the device is, and its user has not said whether it may",
                advice: "nightshift app location \(app.app) --always, or --deny")
        }
        let sources = available.isEmpty ? "no source" : "from " + available.joined(separator: ", ")
        let count = watching.count { $0.permission == .always || $0.permission == .whenInUse }
        return .ok("location", "\(sources), for \(count) \(count == 1 ? "app" : "apps")")
    }
}
