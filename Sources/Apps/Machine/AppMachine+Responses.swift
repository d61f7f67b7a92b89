import NightshiftAPI
import Store

/// Choices of its user that bring the app to the front: the app hears of them there, and nothing is launched for them in the
/// background. Whoever puts one also brings the app to the front.
extension AppMachine {
    /// The choices that a program in front has not heard of, in their order.
    func choices(_ now: ClockReading) -> [WantedWake] { wanted.filter { $0.isForFront && mayBegin($0, now) } }

    /// Whether a program that does not link the library may still read the choices for which it was launched.
    var mayReadChoices: Bool {
        phase != .absent && !hasConnected && wanted.contains { $0.isForFront && isOpen($0) }
    }

    /// A program that does not link the library is told of choices by its launch alone. One that was in front when they were
    /// made needs no more than that, and is not started for them once it has left.
    mutating func dropChoices() -> [AppAction] {
        guard record.isInFront, !hasConnected, !record.linksLibrary else { return [] }
        return discard(
            wanted.filter(\.isForFront), "Its user has had the app in front, which does not link the library.")
    }
}

extension WantedWake {
    /// Whether it is a choice that brings the app to the front.
    var isForFront: Bool {
        guard source == .response, let payload,
            let response = try? JSON.decode(NotificationResponse.self, from: payload)
        else { return false }
        guard response.action != NotificationResponse.opened else { return true }
        return response.notification.actions.first { $0.identifier == response.action }?.isForeground ?? false
    }
}
