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

extension AppService.FeatureHooks {
    /// Creates the hooks with which remote notifications receive events about apps and notify them.
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

/// References between remote notifications and the other features. They are needed because remote notifications and
/// these features call each other.
package final class PushedApps: Sendable {
    /// A weak reference to remote notifications. It must be weak, because the apps hold remote notifications through
    /// their hooks.
    private struct Reference {
        weak var service: PushService?
    }

    private let apps = AppsReference()
    private let push = Mutex(Reference())

    package init() {}

    /// Sets the apps. This must be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Reports that a notification of an app is shown, pending or refused.
    package func alertBecame(_ app: AppID, _ identifier: String, _ state: AlertState, _ date: Date) async {
        await push.withLock(\.service)?.alert(identifier, of: app, became: state, at: date)
    }

    /// Reports that the user has decided whether notifications of an app are shown.
    package func permissionChanged(_ app: AppID) async { await push.withLock(\.service)?.permissionChanged(app) }

    /// Reports a change of the settings for background refresh.
    package func refreshChanged() async { await push.withLock(\.service)?.refreshChanged() }

    /// Creates remote notifications for these apps.
    ///
    /// - Parameters:
    ///   - state: The directory of the device's key.
    ///   - proxy: The proxy for connections to a gateway.
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
