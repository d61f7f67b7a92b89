import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Checks for background refresh that is off, incompletely declared, or failing.
    func checkRefresh() async -> Finding {
        guard let status = try? await invocation.service.client.send(.refresh),
            let apps = try? await invocation.service.client.send(.apps).apps
        else { return .warn("refresh", "the service did not report the state of background refresh") }
        return Self.finding(status, apps)
    }

    static func finding(_ status: RefreshStatus, _ apps: [AppStatus]) -> Finding {
        guard status.isOn else {
            return .warn("refresh", "turned off for all apps", advice: "Turn it on with: nightshift refresh --on")
        }
        let known = Dictionary(status.apps.map { ($0.app, $0) }) { first, _ in first }
        var (silent, undeclared): ([AppManifest], [AppManifest]) = ([], [])
        for app in apps {
            guard let manifest = app.manifest, manifest.taskIdentifiers.isEmpty else { continue }
            let interval = known[app.id]?.interval ?? manifest.fetchInterval ?? .never
            if !manifest.modes.contains(.fetch) {
                if interval != .never { undeclared.append(manifest) }
                // If the app or the user has set the interval to never, the interval is intentional.
            } else if !(known[app.id]?.hasInterval ?? (manifest.fetchInterval != nil)) {
                silent.append(manifest)
            }
        }
        let failing = status.apps.filter { hasFailedAgainAndAgain($0.fetches) }.map(\.app.rawValue)
        var problems: [(detail: String, advice: String)] = []
        if let first = silent.first {
            problems.append(
                (
                    "there are no background fetches for \(names(silent.map(\.id.rawValue))), because no interval is set",
                    "Set X-Nightshift-FetchInterval=minimum in \(first.entry), or run: "
                        + "nightshift app refresh \(first.id) --interval minimum"
                ))
        }
        if let first = undeclared.first {
            problems.append(
                (
                    "the desktop entry does not declare the requested background fetches of "
                        + names(undeclared.map(\.id.rawValue)),
                    "Add fetch to X-Nightshift-BackgroundModes in \(first.entry)"
                ))
        }
        if let first = failing.first {
            problems.append(
                (
                    "the last fetches of \(names(failing)) failed",
                    "See: nightshift app refresh \(first); nightshift app log \(first)"
                ))
        }
        guard problems.isEmpty else {
            return .warn(
                "refresh", problems.map(\.detail).joined(separator: "; "),
                advice: problems.map(\.advice).joined(separator: "; "))
        }
        let count = status.apps.count { $0.availability == .available && $0.interval != .never }
        return .ok("refresh", "on, for \(count) \(count == 1 ? "app" : "apps")")
    }

    /// Returns names in a form such as "one, two and 3 more".
    private static func names(_ apps: [String]) -> String {
        guard apps.count > 3 else {
            let last = apps.last ?? ""
            return apps.count < 2 ? last : apps.dropLast().joined(separator: ", ") + " and " + last
        }
        return apps.prefix(2).joined(separator: ", ") + " and \(apps.count - 2) more"
    }

    private static func hasFailedAgainAndAgain(_ fetches: [FetchRecord]) -> Bool {
        fetches.count >= 3 && fetches.suffix(3).allSatisfy { $0.result == .failed }
    }
}
