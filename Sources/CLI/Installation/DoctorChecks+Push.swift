import NightshiftAPI
import NightshiftClient

/// What keeps remote notifications and UnifiedPush from this device.
extension DoctorChecks {
    func checkPush() async -> Finding {
        guard let status = try? await invocation.service.client.send(.push) else {
            return .warn("push", "the service does not tell how it reaches its push gateway")
        }
        return Self.finding(status)
    }

    static func finding(_ status: PushStatus) -> Finding {
        let registrations = status.unifiedPush ?? []
        let count = status.apps.count(where: \.isRegistered) + registrations.count
        guard let enrolment = status.enrolment else {
            guard count > 0 else {
                return .ok("push", "this device is enrolled at no push gateway, and no app asks for one")
            }
            return .warn(
                "push", "\(count) registrations, and this device is enrolled at no push gateway",
                advice: "nightshift push enrol URL, as 'nightshift-gateway enrolment create' prints it")
        }
        let place = "\(enrolment.host):\(enrolment.port)"
        switch status.connection {
        case .waiting: return .warn("push", "\(place) is not connected: \(status.sentence)", advice: "nightshift push")
        case .off, .connecting, .open, .offline: break
        }
        let unanswered = status.apps.filter { app in app.pushes.contains { $0.alert == .permission } }
        if let app = unanswered.first {
            return .warn(
                "push", "alerts of \(unanswered.map(\.app.rawValue).joined(separator: ", ")) wait for your permission",
                advice: "nightshift app notifications \(app.app.rawValue) --allow, or --deny")
        }
        let waiting = registrations.reduce(0) { $0 + $1.waiting }
        let words = waiting == 0 ? "" : "; \(waiting) messages wait for their apps"
        return .ok("push", "\(place), for \(count) \(count == 1 ? "registration" : "registrations")\(words)")
    }
}
