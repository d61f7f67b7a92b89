package import Apps
package import Clock
package import Logging
import NightshiftAPI
package import Refresh
package import Store

extension AppService.FeatureHooks {
    /// Creates the hooks with which background refresh receives events about apps and notifies them.
    package init(_ refresh: RefreshService) {
        self.init(
            use: { await refresh.use($0, isInFront: $1) },
            forceQuit: { await refresh.forceQuit($0) },
            launched: { await refresh.launched($0) },
            installed: { await refresh.installed($0, $1) },
            wakesEnded: { await refresh.wakesEnded() },
            notices: { [.refresh(RefreshNotice(availability: await refresh.availability(of: $0)))] })
    }
}

/// A reference to the apps for background refresh. The apps are created after background refresh, because they call it.
package final class RefreshedApps: Sendable {
    private let apps = AppsReference()

    package init() {}

    /// Sets the apps. This must be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Creates background refresh for these apps.
    ///
    /// - Parameter changed: A closure that is also called when background refresh is switched on or off.
    package func service(
        store: Store, clock: any ServiceClock, changed: @escaping @Sendable () async -> Void = {}, logger: Logger
    ) -> RefreshService {
        RefreshService(
            RefreshService.Environment(
                store: store, clock: clock,
                expire: { app, source, key in
                    do throws(Problem) {
                        try await self.apps.service?.expire(app, source, key: key)
                    } catch {
                        // The work has ended in the meantime, before it could expire.
                        logger.debug("The work has already ended", metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                },
                availabilityChanged: {
                    await self.apps.service?.tell($0, .refresh(RefreshNotice(availability: $1)))
                    await changed()
                },
                manifests: { await self.apps.service?.manifests() }, logger: logger))
    }
}
