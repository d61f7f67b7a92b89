import NightshiftAPI
import Store

/// Responses to notifications that bring the app to the foreground.
///
/// The app receives such a response in the foreground, and is not launched in the background for it. The code that
/// stores the response also brings the app to the foreground.
extension AppMachine {
    /// The responses that a program in the foreground has not received, in order.
    func choices(_ now: ClockReading) -> [WantedWake] { wanted.filter { $0.isForFront && mayBegin($0, now) } }

    /// Whether the process is a program without the library that may still read the responses for which it was
    /// launched.
    var mayReadChoices: Bool {
        phase != .absent && !hasConnected && wanted.contains { $0.isForFront && isOpen($0) }
    }

    /// Drops responses that a program without the library cannot receive. Such a program reads responses only at its
    /// launch. If it was already in the foreground when the user responded, it is not launched for the response later.
    mutating func dropChoices() -> [AppAction] {
        guard record.isInFront, !hasConnected, !record.linksLibrary else { return [] }
        return discard(
            wanted.filter(\.isForFront),
            "The app was in the foreground and does not link the library, so it cannot receive responses.")
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
