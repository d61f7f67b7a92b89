package import Apps
package import Clock
package import Device
package import Foundation
package import Logging
package import NightshiftAPI
package import Notifications
package import Store

extension AppService.FeatureHooks {
    /// Creates the hooks with which notifications receive events about apps.
    package init(_ notifications: NotificationService) {
        self.init(installed: { await notifications.installed($0, $1) })
    }
}

/// A reference to the apps for notifications. The apps are created after notifications, because they call them.
package final class NotifyingApps: Sendable {
    private let apps = AppsReference()

    package init() {}

    /// Sets the apps. This must be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Creates notifications for these apps.
    package func service(
        store: Store, clock: any ServiceClock, desktop: DesktopNotifications,
        became: @escaping @Sendable (AppID, String, AlertState, Date) async -> Void = { _, _, _, _ in },
        permissionChanged: @escaping @Sendable (AppID) async -> Void = { _ in }, logger: Logger
    ) -> NotificationService {
        NotificationService(
            NotificationService.Environment(
                store: store, clock: clock, desktop: desktop,
                present: { app, notification in
                    guard let apps = self.apps.service else { return .notInFront }
                    return await apps.present(app, notification)
                },
                activate: { app in
                    do throws(Problem) {
                        _ = try await self.apps.service?.activate(app)
                    } catch {
                        // The app's journal shows the error, and the wake is kept.
                        logger.info("Not activated", metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                },
                entry: { await self.entry(of: $0) }, became: became, permissionChanged: permissionChanged,
                logger: logger))
    }

    /// Returns the app's name and icon; nil if the app is gone.
    package func entry(of app: AppID) async -> NotificationService.Entry? {
        guard let apps = self.apps.service else { return nil }
        do throws(Problem) {
            let status = try await apps.app(app)
            return NotificationService.Entry(name: status.name, icon: status.manifest?.icon)
        } catch {
            // A temporary read error must not remove the notifications of the app.
            return error.status == 404 ? nil : NotificationService.Entry(name: app.rawValue, icon: nil)
        }
    }
}
