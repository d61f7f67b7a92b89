package import Apps
import CSystemd
import Clock
import Device
import Foundation
import Glibc
import HTTPTransport
import LocalAPI
import Location
import Logging
import Mounts
import NightshiftAPI
import NightshiftCurl
import Notifications
package import Operations
import Push
import Refresh
import ServiceLifecycle
import Store
import Synchronization
package import Transfers

/// The service of one user: it creates all features, connects them, and starts and stops them in order. It is a
/// library, so that tests can start it.
package struct Daemon {
    private let lock: InstanceLock
    private let store: Store
    private let transport: CurlTransport
    private let server: LocalAPIServer
    private let group: ServiceGroup
    private let logger: Logger
    private let conductor: DeviceCoordinator
    package let transfers: TransferService
    package let apps: AppService
    package let operations: Operations
    private let sources: LocationSources
    private let pushLoop: CurlLoop

    /// Prepares everything, including the database, but starts nothing yet.
    ///
    /// - Throws: ``DaemonError``. In this case, no existing data was changed.
    init(
        _ configuration: DaemonConfiguration, descriptors: DescriptorLimit, logger: Logger
    ) throws(DaemonError) {
        let paths = configuration.paths
        self.logger = logger
        let mask = Self.takeFileCreationMask()
        try HomeDirectories.prepare(paths)
        let socket = try Self.socket(paths)
        lock = try InstanceLock(
            paths: paths, socket: Self.path(of: socket) ?? paths.socket.path,
            replaces: ServiceManager.hasStartedThis(configuration.environment))
        if lock.isTakenOver {
            // A killed process that can no longer execute may still hold locks in the kernel. These locks are on this
            // file, which SQLite recreates from the write-ahead log.
            unlink("\(paths.database.path)-shm")
        }
        let clock = SystemClock()
        do throws(StoreError) {
            store = try Store(paths: paths, now: clock.now())
        } catch {
            throw .store(error.message)
        }
        transport = CurlTransport()
        let monitor = try Self.monitor(configuration)
        let conductor = DeviceCoordinator(monitor: monitor, store: store, clock: clock, logger: logger)
        self.conductor = conductor
        let environment = TransferService.Environment(
            // The conductor sends the actual device state before anything runs.
            paths: paths, store: store, transport: transport, clock: clock, moment: DeviceState(),
            activity: { conductor.activityChanged($0) },
            fallback: configuration.fallback,
            random: { Double.random(in: 0..<1) }, logger: logger)
        let transfers = TransferService(environment, fileMode: 0o666 & ~mask)
        self.transfers = transfers
        let apps = AppService(Self.apps(configuration, store, clock, transfers, conductor, mask, logger))
        self.apps = apps
        sources = LocationSources(monitor: monitor, environment: configuration.environment)
        pushLoop = CurlLoop()
        let manager = SessionManager(environment: configuration.environment)
        let operations = Operations(
            transfers: transfers, apps: apps,
            Operations.PartEnvironment(
                store: store, clock: clock, location: sources,
                desktop: DesktopNotifications(
                    environment: configuration.environment, session: { manager.environment() }),
                distributor: UnifiedPushDistributor(
                    environment: configuration.environment, session: { manager.environment() }),
                state: paths.state, loop: pushLoop, proxy: configuration.fallback.proxy, logger: logger))
        self.operations = operations
        let (stop, memory) = (ShutdownRequest(), FreeMemory())
        let front = FrontRunner(monitor: Self.focus(configuration), apps: apps)
        guard let home = HomeIdentity(paths) else { throw .home("The directory \(paths.state.path) no longer exists.") }
        var limits = ConnectionLimits()
        limits.connections = descriptors.connections
        server = LocalAPIServer(
            operations: operations,
            device: DeviceAccess(
                status: { await front.added(to: conductor.status()) },
                change: { try await front.added(to: conductor.change($0)) },
                request: { try await front.added(to: conductor.request($0)) }),
            socket: socket, limits: limits, logger: logger,
            changes: { FolderWatch.changes(ofFileAt: $0) },
            onListening: { ServiceManager.ready() }, onLargeRequest: { memory.giveBackSoon() },
            onShutdownRequest: { stop.request() })
        var groupConfiguration = ServiceGroupConfiguration(
            services: [
                .init(service: Runner(transfers), failureTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: server, failureTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: ServiceManager()),
                .init(service: SignalRunner(stop: { stop.request() })),
                .init(service: Runner(conductor)),
                .init(service: front),
                .init(service: HomeWatch(home: home, logger: logger, stop: { stop.request() })),
                .init(service: Runner(operations.refresh)),
                .init(service: Runner(operations.location)),
                .init(service: Runner(operations.notifications)),
                .init(service: Runner(operations.push)),
                // This service is stopped first, so that apps are notified before the server stops.
                .init(service: Runner(apps), failureTerminationBehavior: .gracefullyShutdownGroup),
                // This service is asked to stop before the others and stops immediately, because all others write to
                // the store while they stop.
                .init(service: StoreRunner(store: store)),
            ],
            logger: logger)
        // The shutdown is short because the client that stops a service waits for it.
        groupConfiguration.maximumGracefulShutdownDuration = .seconds(2)
        group = ServiceGroup(configuration: groupConfiguration)
        stop.group = group
    }

    /// Serves until it is asked to stop.
    package func run() async throws {
        defer {
            transport.shutdown()
            pushLoop.shutdown()
            // This is also needed if the service ends without being asked to stop.
            store.endLockWaits(at: .now + StoreRunner.longestWait)
            do throws(StoreError) {
                try store.close()
            } catch {
                logger.warning("The database was not closed", metadata: ["error": "\(error)"])
            }
            lock.release()
        }
        do {
            // The device state is announced first, because the handling of adopted apps depends on whether the device
            // dozes.
            let (apps, transfers, operations) = (apps, transfers, operations)
            try await conductor.prepare(
                DeviceCoordinator.Receivers(
                    settings: { await apps.apply($0) },
                    states: [
                        { await apps.apply($0) }, { await transfers.apply($0) },
                        { await operations.refresh.apply($0) }, { await operations.location.apply($0) },
                        { await operations.push.apply($0) },
                    ]))
            try await transfers.prepare()
            try await apps.prepare()
            // Background refresh is prepared after the apps, because it needs their desktop entries, and before the
            // apps report anything.
            try await operations.refresh.prepare()
            try await operations.location.prepare()
            try await operations.notifications.prepare()
            try await operations.push.prepare()
            sources.start()
            try await group.run()
        } catch let error as StoreError {
            throw DaemonError.store(error.message)
        }
    }

    private static func apps(
        _ configuration: DaemonConfiguration, _ store: Store, _ clock: SystemClock, _ transfers: TransferService,
        _ conductor: DeviceCoordinator, _ fileCreationMask: UInt32, _ logger: Logger
    ) -> AppService.Environment {
        let paths = configuration.paths
        let manager = SessionManager(environment: configuration.environment)
        let fileSystems = FileSystems(home: paths.state.path(percentEncoded: false))
        return AppService.Environment(
            paths: paths, store: store,
            host: SystemProcessHost(
                paths: paths, bootID: clock.now().bootID, fileSystems: fileSystems,
                units: ServiceManager.hasStartedThis(configuration.environment) ? AppUnits(manager) : nil),
            entries: EntryDirectories(
                paths: paths, environment: configuration.environment, fileSystems: fileSystems),
            clock: clock,
            transfers: AppService.TransferHooks(transfers, logger: logger),
            variables: configuration.absoluteEnvironment, sessionVariables: { manager.environment() },
            homeDirectory: configuration.homeDirectory.path,
            fileCreationMask: fileCreationMask, activity: { conductor.activityChanged($0) }, logger: logger)
    }

    /// Returns the monitor of the device, or of a trace that replaces the device.
    private static func monitor(_ configuration: DaemonConfiguration) throws(DaemonError) -> DeviceMonitor {
        let paths = configuration.paths
        do {
            return try DeviceMonitor(
                configuration.deviceTrace.map { .trace(path: $0) }
                    ?? .system(address: configuration.environment["DBUS_SYSTEM_BUS_ADDRESS"]),
                freeSpaceOf: paths.partials.path(percentEncoded: false))
        } catch {
            throw .configuration("NIGHTSHIFT_DEVICE_TRACE: \(error)")
        }
    }

    /// Returns the monitor of the desktop; nil if a trace replaces the device.
    private static func focus(_ configuration: DaemonConfiguration) -> FocusMonitor? {
        guard configuration.deviceTrace == nil else { return nil }
        let manager = SessionManager(environment: configuration.environment)
        return FocusMonitor(environment: configuration.environment, session: { manager.environment() })
    }

    /// Returns the socket that systemd opened, or a new one.
    private static func socket(_ paths: ServicePaths) throws(DaemonError) -> ListeningSocket {
        switch sd_listen_fds(1) {
        case 0: return .path(paths.socket.path)
        case 1: return .inherited(descriptor: SD_LISTEN_FDS_START)
        case let count:
            throw .configuration("systemd passed \(count) sockets, but nightshiftd.socket must have exactly one.")
        }
    }

    /// Returns the path of a socket to which clients connect; nil if the kernel does not report a path.
    private static func path(of socket: ListeningSocket) -> String? {
        switch socket {
        case .path(let path): return path
        case .inherited(let descriptor):
            var address = sockaddr_un()
            var length = socklen_t(MemoryLayout<sockaddr_un>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
            let path = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            return path.hasPrefix("/") ? path : nil
        }
    }

    /// Returns the umask with which the service was started, and sets a private one. The returned umask applies to
    /// finished files and to apps. This must be called before other threads can create files.
    private static func takeFileCreationMask() -> UInt32 {
        // The files of the service contain credentials, so from here on all files are created with private permissions.
        umask(0o077)
    }
}

/// A connection between the shutdown request of the API and the service group.
private final class ShutdownRequest: Sendable {
    private let box = Mutex<ServiceGroup?>(nil)

    var group: ServiceGroup? {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }

    func request() {
        guard let group else { return }
        Task { await group.triggerGracefulShutdown() }
    }
}
