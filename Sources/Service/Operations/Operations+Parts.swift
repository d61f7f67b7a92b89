package import Apps
package import Clock
package import Device
package import Foundation
package import Location
package import Logging
package import NightshiftAPI
package import NightshiftCurl
package import Notifications
import Push
import Refresh
import Runtime
package import Store
import Synchronization
package import Transfers

extension Operations {
    /// The resources of the parts that wake and notify apps.
    package struct PartEnvironment: Sendable {
        package var store: Store
        package var clock: any ServiceClock
        package var location: any FixSource
        package var desktop: DesktopNotifications
        /// The UnifiedPush interface for apps; nil if UnifiedPush is not available.
        package var distributor: UnifiedPushDistributor?
        /// The directory of the device's key.
        package var state: URL
        package var loop: CurlLoop
        /// Returns the proxy for connections to a gateway.
        package var proxy: @Sendable (_ url: String) -> String?
        package var logger: Logger

        package init(
            store: Store, clock: any ServiceClock, location: any FixSource, desktop: DesktopNotifications,
            distributor: UnifiedPushDistributor? = nil, state: URL, loop: CurlLoop,
            proxy: @escaping @Sendable (_ url: String) -> String? = { _ in nil }, logger: Logger
        ) {
            self.store = store
            self.clock = clock
            self.location = location
            self.desktop = desktop
            self.distributor = distributor
            self.state = state
            self.loop = loop
            self.proxy = proxy
            self.logger = logger
        }
    }

    /// Creates the parts that wake and notify apps. They call the apps, and receive the events of the apps.
    ///
    /// - Parameter ask: asks the user for the location permission of an app. By default, a notification asks.
    package init(
        transfers: TransferService, apps: AppService, _ environment: PartEnvironment,
        ask: LocationService.Environment.Ask? = nil
    ) {
        // Push asks background refresh and notifications, and they report changes to push.
        let push = Later<PushService>()
        let refresh = RefreshService(apps: apps, environment) { await push.value?.refreshChanged() }
        let notifications = NotificationService(apps: apps, environment, push: push)
        self.init(
            transfers: transfers, apps: apps, refresh: refresh,
            location: LocationService(apps: apps, environment, ask: ask ?? notifications.askForLocation),
            notifications: notifications,
            push: PushService(apps: apps, environment, refresh: refresh, notifications: notifications))
        push.value = self.push
        apps.events.subscribe(receive: { [weak transfers] event, app in
            if case .use(let isInFront) = event { await transfers?.use(app, isInFront: isInFront) }
        })
    }
}

/// A reference to an object that is created later. The reference is weak.
final class Later<Object: AnyObject & Sendable>: Sendable {
    private struct Reference {
        weak var object: Object?
    }

    private let reference = Mutex(Reference())

    var value: Object? {
        get { reference.withLock(\.object) }
        set { reference.withLock { $0.object = newValue } }
    }
}

extension RefreshService {
    /// - Parameter changed: a callback for changes of the settings for background refresh.
    init(
        apps: AppService, _ environment: Operations.PartEnvironment, changed: @escaping @Sendable () async -> Void
    ) {
        self.init(
            Environment(
                store: environment.store, clock: environment.clock,
                expire: { app, source, key in
                    do throws(Problem) {
                        try await apps.expire(app, source, key: key)
                    } catch {
                        // The work has ended in the meantime, before it could expire.
                        environment.logger.debug(
                            "The work has already ended", metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                },
                availabilityChanged: {
                    await apps.tell($0, .refresh(RefreshNotice(availability: $1)))
                    await changed()
                },
                manifests: { await apps.manifests() }, logger: environment.logger))
        apps.events.subscribe(
            notices: { [weak self] app in
                guard let availability = await self?.availability(of: app) else { return [] }
                return [.refresh(RefreshNotice(availability: availability))]
            },
            receive: { [weak self] in await self?.receive($0, of: $1) })
    }
}

extension LocationService {
    init(apps: AppService, _ environment: Operations.PartEnvironment, ask: @escaping Environment.Ask) {
        self.init(
            Environment(
                store: environment.store, clock: environment.clock, source: environment.location, ask: ask,
                permissionChanged: { await apps.tell($0, .location($1)) },
                wakesChanged: { await apps.wakesTakenBack(of: $0) },
                manifests: { await apps.manifests() }, logger: environment.logger))
        apps.events.subscribe(
            notices: { [weak self] app in await self?.notice(for: app).map { [.location($0)] } ?? [] },
            receive: { [weak self] in await self?.receive($0, of: $1) })
    }
}

extension NotificationService {
    init(apps: AppService, _ environment: Operations.PartEnvironment, push: Later<PushService>) {
        self.init(
            Environment(
                store: environment.store, clock: environment.clock, desktop: environment.desktop,
                present: { await apps.present($0, $1) },
                activate: { app in
                    do throws(Problem) {
                        _ = try await apps.activate(app)
                    } catch {
                        // The app's journal shows the error, and the wake is kept.
                        environment.logger.info("Not activated", metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                },
                entry: { await apps.entry(of: $0) },
                became: { await push.value?.alert($1, of: $0, became: $2, at: $3) },
                permissionChanged: { await push.value?.permissionChanged($0) }, logger: environment.logger))
        apps.events.subscribe(receive: { [weak self] in await self?.receive($0, of: $1) })
    }

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

extension PushService {
    init(
        apps: AppService, _ environment: Operations.PartEnvironment, refresh: RefreshService,
        notifications: NotificationService
    ) {
        self.init(
            Environment(
                store: environment.store, clock: environment.clock, state: environment.state,
                connect: { request, delegate in
                    var request = request
                    request.proxy = environment.proxy(request.url)
                    return PushWire(request, delegate: delegate, on: environment.loop)
                },
                availability: { await refresh.availability(of: $0) },
                notifications: Notifications(
                    changed: { await notifications.wake() }, permission: { await notifications.permission(of: $0) }),
                distribution: environment.distributor.map { Distribution($0) },
                tell: { await apps.tell($0, .push($1)) },
                manifests: { await apps.manifests() }, logger: environment.logger))
        apps.events.subscribe(
            notices: { [weak self] in await self?.notice(for: $0).map { [.push($0)] } ?? [] },
            receive: { [weak self] in await self?.receive($0, of: $1) })
    }
}

extension AppService {
    /// Returns the app's name and icon for notifications; nil if the app is gone.
    package func entry(of app: AppID) async -> NotificationService.Entry? {
        do throws(Problem) {
            let status = try await self.app(app)
            return NotificationService.Entry(name: status.name, icon: status.manifest?.icon)
        } catch {
            // A temporary read error must not remove the notifications of the app.
            return error.status == 404 ? nil : NotificationService.Entry(name: app.rawValue, icon: nil)
        }
    }
}
