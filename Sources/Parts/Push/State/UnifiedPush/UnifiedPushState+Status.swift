import Device
import Foundation
package import NightshiftAPI
import Runtime

/// The UnifiedPush status for users.
extension UnifiedPushState {
    /// Returns the status of the registrations of an app, or of all apps if `app` is nil. Returns nil if there are no
    /// registrations.
    package func statuses(of app: AppID?) -> [UnifiedPushStatus]? {
        let own = inOrder.filter { app == nil || $0.app == app }
        return own.isEmpty ? nil : own.map(status)
    }

    private func status(_ registration: UnifiedPushRegistration) -> UnifiedPushStatus {
        let own = order.compactMap { messages[$0] }.filter { $0.topic == registration.topic }
        let waiting = own.filter { $0.state == .waiting }
        var status = UnifiedPushStatus(
            app: registration.app, about: registration.description, version: registration.version.rawValue,
            sentence: sentence(registration, waiting))
        status.endpoint = registration.endpoint
        status.waiting = waiting.count
        status.last = own.last.map { Date(timeIntervalSince1970: $0.received) }
        return status
    }

    private func sentence(_ registration: UnifiedPushRegistration, _ waiting: [UnifiedPushMessage]) -> String {
        if !isEnrolled { return Self.notEnrolled }
        if let error = registration.error { return error }
        if registration.gatewayToken == nil { return "It is waiting for its endpoint from the gateway." }
        if !isOnBus { return "There is no session bus, so the app cannot be reached." }
        if let first = waiting.first {
            return first.sentence.isEmpty ? "A message is being delivered to the app." : first.sentence
        }
        if !registration.isAnnounced { return "The app gets its endpoint when it can be reached." }
        return "Messages are delivered at once."
    }
}
