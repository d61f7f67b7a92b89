import NightshiftAPI
import Store

/// Responses to notifications that bring the app to the foreground.
///
/// The app receives them there, and is not launched in the background for them. The code that stores such a response
/// also brings the app to the foreground.
extension AppMachine {
    /// The responses that a program in the foreground has not received, in order.
    func choices(_ now: ClockReading) -> [WantedWake] { wanted.filter { $0.isForFront && mayBegin($0, now) } }

    /// Whether a program that does not link the library may still read the responses for which it was launched.
    var mayReadChoices: Bool {
        phase != .absent && !hasConnected && wanted.contains { $0.isForFront && isOpen($0) }
    }

    /// Drops responses that a program without the library cannot receive. Such a program reads them only when it is
    /// launched. If it was in the foreground when you chose, it is not started for them after it has left.
    mutating func dropChoices() -> [AppAction] {
        guard record.isInFront, !hasConnected, !record.linksLibrary else { return [] }
        return discard(
            wanted.filter(\.isForFront), "The app was in the foreground and cannot receive responses, because it does not link the library.")
    }
}

extension WantedWake {
    /// Whether the wake is a response that brings the app to the foreground.
    var isForFront: Bool {
        guard source == .response, let payload,
            let response = try? JSON.decode(NotificationResponse.self, from: payload)
        else { return false }
        guard response.action != NotificationResponse.opened else { return true }
        return response.notification.actions.first { $0.identifier == response.action }?.isForeground ?? false
    }
}
