import Location
import NightshiftAPI
import Notifications

extension NotificationService {
    /// Asks the user, by a notification, whether an app may learn where the device is.
    nonisolated var askForLocation: LocationService.Environment.Ask {
        { app, name, reason, permission in
            let when = permission == .always ? "also while you do not use it" : "while you use it"
            let choice = await self.ask(
                app: app, purpose: "location",
                title: "May \(name.isEmpty ? app.rawValue : name) know where this device is?",
                body: reason.map { "It says: \($0)" } ?? "It wants to know it \(when).",
                choices: [
                    NotificationQuestion.Choice(key: "allow", title: "Allow"),
                    NotificationQuestion.Choice(key: "deny", title: "Don’t Allow"),
                ])
            return switch choice {
            case "allow": permission
            case "deny": .denied
            default: nil
            }
        }
    }
}
