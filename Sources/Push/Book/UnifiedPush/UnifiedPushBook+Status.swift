import Device
import Foundation
package import NightshiftAPI

/// What people are told.
extension UnifiedPushBook {
    /// The registrations, of one app or of all; nil where there are none.
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
        if registration.gatewayToken == nil { return "It waits for its endpoint from the gateway." }
        if !isOnBus { return "There is no session's bus on which the app could be reached." }
        if let first = waiting.first {
            return first.sentence.isEmpty ? "A message is on its way to the app." : first.sentence
        }
        if !registration.isAnnounced { return "The app does not know its endpoint yet; it is told when it is reached." }
        return "Messages are handed on as they come."
    }
}
