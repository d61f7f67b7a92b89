import NightshiftAPI
import NightshiftClient

/// Checks of remote notifications and UnifiedPush.
extension DoctorChecks {
    func checkPush() async -> Finding {
        guard let status = try? await invocation.service.client.send(.push) else {
            return .warn("push", "the service did not report the connection to its push gateway")
        }
        return Self.finding(status)
    }

    static func finding(_ status: PushStatus) -> Finding {
        let registrations = status.unifiedPush ?? []
        let count = status.apps.count(where: \.isRegistered) + registrations.count
        guard let enrolment = status.enrolment else {
            guard count > 0 else {
                return .ok("push", "this device is not enrolled at a push gateway, and no app needs one")
            }
            return .warn(
                "push", "apps have \(count) registrations, but this device is not enrolled at a push gateway",
                advice: "Run: nightshift push enrol URL. 'nightshift-gateway enrolment create' prints the URL.")
        }
        let place = "\(enrolment.host):\(enrolment.port)"
        switch status.connection {
        case .waiting:
            return .warn("push", "\(place) is not connected: \(status.sentence)", advice: "See: nightshift push")
        case .off, .connecting, .open, .offline: break
        }
        let unanswered = status.apps.filter { app in app.pushes.contains { $0.alert == .permission } }
        if let app = unanswered.first {
            return .warn(
                "push", "alerts of \(unanswered.map(\.app.rawValue).joined(separator: ", ")) wait for your permission",
                advice: "Run: nightshift app notifications \(app.app.rawValue) --allow, or with --deny")
        }
        let waiting = registrations.reduce(0) { $0 + $1.waiting }
        let words = waiting == 0 ? "" : "; \(waiting) messages wait for their apps"
        return .ok("push", "\(place), for \(count) \(count == 1 ? "registration" : "registrations")\(words)")
    }
}
