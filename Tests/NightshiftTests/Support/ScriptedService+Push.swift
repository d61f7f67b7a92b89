import Foundation
import NightshiftAPI
import TestSupport

/// The part of the service that handles remote notifications and notifications.
extension ScriptedService {
    struct PushState: Sendable {
        /// The notice that the service sends after `hello` if the app has registered.
        var notice: PushNotice?
        /// The service's response to a registration.
        var answer = PushNotice(token: "0a0B")
        var registrations = 0
        var unregistrations = 0
        var notifications = ProcessNotifications(permission: .ask, canShow: true)
        /// The user's answer to the permission request.
        var word = NotificationPermission.allowed
        var questions: [Bool] = []
        /// The notifications that were added, in the order of arrival.
        var added: [NotificationRequest] = []
        var removed: [String] = []
        var categories: [NotificationCategories.Category] = []
        var badges: [Int] = []
        /// The presentation options that the app has chosen, by the number of the command.
        var presentations: [Int64: Int] = [:]
    }

    func tell(_ notice: PushNotice) {
        state.update { state in
            let frame = Self.frame("push", id: nil, notice)
            for channel in state.channels { channel.send(frame) }
        }
    }

    /// Wakes the app for a push.
    ///
    /// - Parameter payload: The payload from the provider.
    func deliver(_ number: Int64, _ payload: String, id: String = "push", through: Int64? = nil) throws {
        let delivery = PushDelivery(id: id, payload: payload, received: Date(timeIntervalSince1970: 1_800_000_000))
        wake(number, .push, wake: through, payload: try JSON.encode(delivery))
    }

    func respond(_ number: Int64, _ response: NotificationResponse) throws {
        wake(number, .response, response.notification.identifier, payload: try JSON.encode(response))
    }

    func present(_ number: Int64, _ notification: AppNotification) throws {
        var command = ProcessCommand(number: number, action: .present)
        command.key = notification.identifier
        command.payload = try JSON.encode(notification)
        self.command(command)
    }

    /// Answers a request about notifications. Returns nil for other requests.
    func push(_ parts: [String], _ request: SocketServer.Request) throws -> SocketServer.Reply? {
        guard parts.starts(with: ["v1", "process"]), parts.count > 2 else { return nil }
        switch (request.method, parts[2], parts.dropFirst(3).first) {
        case ("PUT", "push", nil):
            return try Self.json(
                state.update { state in
                    state.push.registrations += 1
                    return state.push.answer
                })
        case ("DELETE", "push", nil): state.update { $0.push.unregistrations += 1 }
        case ("GET", "notifications", nil): return try Self.json(state.read { $0.push.notifications })
        case ("POST", "notification-authorization", nil):
            let wish = try JSON.decode(NotificationAuthorizationRequest.self, from: request.body)
            return try Self.json(
                state.update { state in
                    state.push.questions.append(wish.isProvisional)
                    state.push.notifications.permission = wish.isProvisional ? .provisional : state.push.word
                    return state.push.notifications
                })
        case ("POST", "notifications", nil):
            let wish = try JSON.decode(NotificationRequest.self, from: request.body)
            state.update { state in
                state.push.added.append(wish)
                if wish.delay == nil {
                    state.push.notifications.delivered.append(wish.notification)
                } else {
                    state.push.notifications.pending.append(wish)
                }
            }
        case ("DELETE", "notifications", let identifier?):
            state.update { state in
                state.push.removed.append(identifier)
                state.push.notifications.delivered.removeAll { $0.identifier == identifier }
                state.push.notifications.pending.removeAll { $0.notification.identifier == identifier }
            }
        case ("PUT", "notification-categories", nil):
            let wish = try JSON.decode(NotificationCategories.self, from: request.body)
            state.update { $0.push.categories = wish.categories }
        case ("PUT", "badge", nil):
            let wish = try JSON.decode(BadgeChange.self, from: request.body)
            state.update { $0.push.badges.append(wish.count) }
        default: return nil
        }
        return .json(204, Data())
    }
}
