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
    private struct Reference {
        weak var service: PushService?
    }

    private let apps = AppsReference()
    private let push = Mutex(Reference())

    package init() {}

    /// To be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// A notification of an app is shown, waits or is not shown.
    package func alertBecame(_ app: AppID, _ identifier: String, _ state: AlertState, _ date: Date) async {
        await push.withLock(\.service)?.alert(identifier, of: app, became: state, at: date)
    }

    /// The user has said whether notifications of an app are shown.
    package func permissionChanged(_ app: AppID) async { await push.withLock(\.service)?.permissionChanged(app) }

    /// What background refresh is allowed to do has changed.
    package func refreshChanged() async { await push.withLock(\.service)?.refreshChanged() }

    /// Remote notifications of these apps.
    ///
    /// - Parameters:
    ///   - state: where the device's key is kept.
    ///   - proxy: the proxy on the way to a gateway.
    package func service(
        store: Store, clock: any ServiceClock, state: URL, loop: CurlLoop, refresh: RefreshService,
        notifications: NotificationService, distributor: UnifiedPushDistributor? = nil,
        proxy: @escaping @Sendable (_ url: String) -> String? = { _ in nil }, logger: Logger
    ) -> PushService {
        let service = PushService(
            PushService.Environment(
                store: store, clock: clock, state: state,
                connect: { request, delegate in
                    var request = request
                    request.proxy = proxy(request.url)
                    return PushWire(request, delegate: delegate, on: loop)
                },
                availability: { await refresh.availability(of: $0) },
                notifications: PushService.Notifications(
                    changed: { await notifications.wake() },
                    permission: { await notifications.permission(of: $0) }),
                distribution: distributor.map { PushService.Distribution($0) },
                tell: { app, notice in await self.apps.service?.tell(app, .push(notice)) },
                manifests: { await self.apps.service?.manifests() }, logger: logger))
        push.withLock { $0.service = service }
        return service
    }
}
