package import Apps
package import Clock
package import Location
package import Logging
package import NightshiftAPI
package import Store

extension AppService.PartHooks {
    /// What location hears of apps, and tells them.
    package init(_ location: LocationService) {
        self.init(
            use: { await location.use($0, isInFront: $1) },
            forceQuit: { await location.forceQuit($0) },
            launched: { await location.launched($0) },
            suspended: { await location.suspend($0, isSuspended: $1) },
            installed: { await location.installed($0, $1) },
            notices: { app in await location.notice(for: app).map { [.location($0)] } ?? [] })
    }
}

/// The apps, as location reaches them: they are made behind it, since they call it, too.
package final class LocatedApps: Sendable {
    private let apps = AppsReference()

    package init() {}

    /// To be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Location over these apps.
    ///
    /// - Parameter ask: asks the user of the device; nil where he cannot be asked, and where he does not answer.
    package func service(
        store: Store, clock: any ServiceClock, source: any FixSource,
        ask: @escaping LocationService.Environment.Ask = { _, _, _, _ in nil }, logger: Logger
    ) -> LocationService {
        LocationService(
            LocationService.Environment(
                store: store, clock: clock, source: source, ask: ask,
                permissionChanged: { await self.apps.service?.tell($0, .location($1)) },
                wakesChanged: { await self.apps.service?.wakesTakenBack(of: $0) },
                manifests: { await self.apps.service?.manifests() }, logger: logger))
    }
}
