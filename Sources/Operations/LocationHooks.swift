package import Apps
package import Clock
package import Location
package import Logging
package import NightshiftAPI
package import Store

extension AppService.FeatureHooks {
    /// Creates the hooks with which location receives events about apps and notifies them.
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

/// A reference to the apps for location. The apps are created after location, because they call it.
package final class LocatedApps: Sendable {
    private let apps = AppsReference()

    package init() {}

    /// Sets the apps. This must be called once, before anything runs.
    package func connect(_ service: AppService) { apps.connect(service) }

    /// Creates location for these apps.
    ///
    /// - Parameter ask: A closure that asks the user of the device. It returns nil if the user cannot be asked or does
    ///   not answer.
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
