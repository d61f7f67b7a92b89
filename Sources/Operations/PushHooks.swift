package import Apps
package import Clock
package import Device
package import Foundation
package import Logging
package import NightshiftAPI
package import NightshiftCurl
package import Notifications
package import Push
package import Refresh
package import Store
import Synchronization

extension AppService.PartHooks {
    /// What remote notifications hear of apps, and tell them.
    package init(_ push: PushService) {
        self.init(
            use: { await push.use($0, isInFront: $1) },
            forceQuit: { await push.forceQuit($0) },
            launched: { await push.launched($0) },
            installed: { await push.installed($0, $1) },
            wakesEnded: { await push.wakesEnded() },
            notices: { await push.notice(for: $0).map { [.push($0)] } ?? [] })
    }
}

/// The apps and the other parts, as remote notifications reach them, and the other way round: each calls the other.
package final class PushedApps: Sendable {
    /// Weak, since the apps hold remote notifications by their hooks.
    private struct References {
        weak var apps: AppService?
        weak var push: PushService?
    }

    private let references = Mutex(References())

    package init() {}

    /// To be called once, before anything runs.
    package func connect(_ service: AppService) { references.withLock { $0.apps = service } }

    /// A notification of an app is on its user's screen.
    package func shown(_ app: AppID, _ identifier: String, _ date: Date) async {
        await references.withLock(\.push)?.shown(identifier, of: app, at: date)
    }

    /// What background refresh is allowed to do has changed.
    package func refreshChanged() async { await references.withLock(\.push)?.refreshChanged() }

    /// Remote notifications of these apps.
    ///
    /// - Parameter state: where the device's key is kept.
    package func service(
        store: Store, clock: any ServiceClock, state: URL, loop: CurlLoop, refresh: RefreshService,
        notifications: NotificationService, distributor: UnifiedPushDistributor? = nil, logger: Logger
    ) -> PushService {
        let service = PushService(
            PushService.Environment(
                store: store, clock: clock, state: state,
                connect: { PushWire($0, delegate: $1, on: loop) },
                availability: { await refresh.availability(of: $0) },
                notifications: PushService.Notifications(
                    changed: { await notifications.wake() },
                    permission: { await notifications.permission(of: $0) }),
                distribution: distributor.map { PushService.Distribution($0) },
                tell: { app, notice in await self.references.withLock(\.apps)?.tell(app, .push(notice)) },
                manifests: {
                    guard let apps = self.references.withLock(\.apps) else { return nil }
                    do throws(Problem) {
                        return try await apps.apps().compactMap(\.manifest)
                    } catch {
                        logger.error("Entries cannot be read", metadata: ["error": "\(error)"])
                        return nil
                    }
                }, logger: logger))
        references.withLock { $0.push = service }
        return service
    }
}
