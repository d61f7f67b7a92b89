import Location
import NightshiftAPI
import Notifications

extension NotificationService {
    /// A closure that asks the user, with a notification, for the location permission of an app.
    nonisolated var askForLocation: LocationService.Environment.Ask {
        { app, name, reason, permission in
            let when = permission == .always ? "even while you do not use the app" : "while you use the app"
            let choice = await self.ask(
                app: app, purpose: "location",
                title: "Allow \(name.isEmpty ? app.rawValue : name) to use your location?",
                body: reason.map { "It says: \($0)" } ?? "The app wants to use your location \(when).",
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
