package import Apps
package import Clock
package import Device
package import Foundation
package import Logging
package import NightshiftAPI
package import Notifications
package import Store

extension AppService.PartHooks {
    /// What notifications hear of apps.
    package init(_ notifications: NotificationService) {
        self.init(installed: { await notifications.installed($0, $1) })
    }
}

/// The apps, as notifications reach them: they are made behind them, since they call them, too.
package final class NotifyingApps: Sendable {
    private let apps = AppsReference()

    package init() {}

    /// To be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Notifications of these apps.
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
                        // The app's own journal says what is wrong with it; its wake stays.
                        logger.info("Not activated", metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                },
                entry: { await self.entry(of: $0) }, became: became, permissionChanged: permissionChanged,
                logger: logger))
    }

    /// What an app is called, and its icon; nil where it is gone.
    package func entry(of app: AppID) async -> NotificationService.Entry? {
        guard let apps = self.apps.service else { return nil }
        do throws(Problem) {
            let status = try await apps.app(app)
            return NotificationService.Entry(name: status.name, icon: status.manifest?.icon)
        } catch {
            // What cannot be read just now is no reason to forget its notifications.
            return error.status == 404 ? nil : NotificationService.Entry(name: app.rawValue, icon: nil)
        }
    }
}
