import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Background refresh that is switched off, or asked for in half.
    func checkRefresh() async -> Finding {
        guard let status = try? await invocation.service.client.send(.refresh),
            let apps = try? await invocation.service.client.send(.apps).apps
        else { return .warn("refresh", "the service does not tell how background refresh is") }
        return Self.finding(status, apps)
    }

    static func finding(_ status: RefreshStatus, _ apps: [AppStatus]) -> Finding {
        guard status.isOn else {
            return .warn("refresh", "switched off for all apps", advice: "nightshift refresh --on")
        }
        let known = Dictionary(status.apps.map { ($0.app, $0) }) { first, _ in first }
        for app in apps {
            guard let manifest = app.manifest, manifest.taskIdentifiers.isEmpty else { continue }
            let mayFetch = manifest.modes.contains(.fetch)
            let interval = known[app.id]?.interval ?? manifest.fetchInterval ?? .never
            // Its user's own word is no mistake of the app.
            if mayFetch, interval == .never, known[app.id]?.intervalSource != .user {
                return .warn(
                    "refresh", "\(app.id) may fetch in the background, and says no interval: it is not fetched for",
                    advice: "X-Nightshift-FetchInterval=minimum in \(manifest.entry), or: "
                        + "nightshift app refresh \(app.id) --interval minimum")
            }
            if !mayFetch, interval != .never {
                return .warn(
                    "refresh", "\(app.id) asks for background fetches, and its entry does not declare them",
                    advice: "Add fetch to X-Nightshift-BackgroundModes in \(manifest.entry)")
            }
        }
        if let failing = status.apps.first(where: { hasFailedAgainAndAgain($0.fetches) }) {
            return .warn(
                "refresh", "the last fetches of \(failing.app) failed",
                advice: "nightshift app refresh \(failing.app); nightshift app log \(failing.app)")
        }
        let count = status.apps.count { $0.availability == .available && $0.interval != .never }
        return .ok("refresh", "on, for \(count) \(count == 1 ? "app" : "apps")")
    }

    private static func hasFailedAgainAndAgain(_ fetches: [FetchRecord]) -> Bool {
        fetches.count >= 3 && fetches.suffix(3).allSatisfy { $0.result == .failed }
    }
}
