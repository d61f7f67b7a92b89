import Apps
import Clock
import Device
import Foundation
import Location
import Logging
import NightshiftAPI
import NightshiftCurl
import Notifications
import Operations
import Push
import Refresh
import SimulationSupport
import Store
import TestSupport
import Transfers

/// Services with their own database and without a network, so that all transfers wait.
struct TestService: Sendable {
    let directory: TemporaryDirectory
    let operations: Operations

    var service: TransferService { operations.transfers }
    var apps: AppService { operations.apps }
    var refresh: RefreshService { operations.refresh }
    var location: LocationService { operations.location }
    var notifications: NotificationService { operations.notifications }
    var push: PushService { operations.push }
}

func makeService() throws -> TestService {
    let directory = try TemporaryDirectory()
    let home = URL(filePath: directory.path, directoryHint: .isDirectory)
    let variables = ["NIGHTSHIFT_HOME": directory.path, "PATH": "/usr/local/bin:/usr/bin:/bin"]
    let paths = ServicePaths(environment: variables, homeDirectory: home)
    for path in [paths.state, paths.partials, paths.files, paths.apps] {
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    }
    let clock = SystemClock()
    var offline = DeviceConditions()
    offline.network.isAvailable = false
    let store = try Store(paths: paths, now: clock.now())
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let service = TransferService(
        TransferService.Environment(
            paths: paths, store: store, transport: NoTransport(), clock: clock,
            moment: DeviceState(conditions: offline),
            random: { 0.5 }, logger: logger))
    let apps = AppService(
        AppService.Environment(
            paths: paths, store: store,
            host: SystemProcessHost(paths: paths, bootID: clock.now().bootID, suspension: .signals),
            entries: EntryDirectories(paths: paths, environment: variables), clock: clock,
            transfers: AppService.TransferHooks(service, logger: logger),
            variables: variables, homeDirectory: directory.path, fileCreationMask: 0o022, logger: logger))
    return TestService(
        directory: directory,
        operations: Operations(
            transfers: service, apps: apps,
            Operations.PartEnvironment(
                store: store, clock: clock, location: ScriptedFixSource(),
                desktop: DesktopNotifications(environment: [:]), state: paths.state, loop: CurlLoop(), logger: logger)))
}

/// A transport that is never used, because there is no network.
private struct NoTransport: Transport {
    struct NoExchange: ExchangeHandle {
        func cancel() {}
        func setRateLimit(_ bytesPerSecond: Int64?) {}
        func resumeWriting() {}
    }

    func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle { NoExchange() }
    func setRateLimit(_ bytesPerSecond: Int64?) {}
    func forgetConnections() {}
}
