import CSystemd
import Device
import Foundation
import Glibc
import HTTPTransport
import LocalAPI
package import Logging
import NightshiftAPI
import ServiceLifecycle
import Store
import Synchronization
package import Transfers
import UnixSignals

/// One user's service: all parts put together, started and stopped in order. A library, so that tests can boot it.
package struct Daemon {
    private let lock: InstanceLock
    private let store: Store
    private let transport: CurlTransport
    private let server: LocalAPIServer
    private let group: ServiceGroup
    private let logger: Logger
    package let transfers: TransferService

    /// Prepares everything up to the database; nothing runs yet.
    ///
    /// - Throws: ``DaemonError``. Nothing that is there has been changed then.
    package init(_ configuration: DaemonConfiguration, logger: Logger) throws(DaemonError) {
        let paths = configuration.paths
        self.logger = logger
        let fileMode = Self.fileMode()
        try HomeDirectories.prepare(paths)
        lock = try InstanceLock(paths: paths)
        let clock = SystemClock()
        do throws(StoreError) {
            store = try Store(paths: paths, now: clock.now())
        } catch {
            throw .store(error.message)
        }
        transport = CurlTransport()
        let environment = TransferService.Environment(
            paths: paths, store: store, transport: transport, clock: clock,
            network: TransferService.NetworkFeed(
                isAvailable: NetworkMonitor.isAvailable, changes: NetworkMonitor.changes()),
            fallback: TransferService.NetworkFallback(proxy: configuration.proxy, tls: configuration.tls),
            random: { Double.random(in: 0..<1) }, logger: logger)
        transfers = TransferService(environment, fileMode: fileMode)
        let stop = ShutdownRequest()
        server = LocalAPIServer(
            service: transfers, socket: try Self.socket(paths), logger: logger,
            onListening: { ServiceManager.ready() }, onShutdownRequest: { stop.request() })
        var groupConfiguration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: TransferRunner(service: transfers), failureTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: server, failureTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: ServiceManager()),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // Whoever asks a service to leave waits for it.
        groupConfiguration.maximumGracefulShutdownDuration = .seconds(2)
        group = ServiceGroup(configuration: groupConfiguration)
        stop.group = group
    }

    /// Serves until it is asked to stop.
    package func run() async throws {
        defer {
            transport.shutdown()
            do throws(StoreError) {
                try store.close()
            } catch {
                logger.warning("The database was not closed", metadata: ["error": "\(error)"])
            }
        }
        do {
            try await group.run()
        } catch let error as StoreError {
            throw DaemonError.store(error.message)
        }
    }

    /// The socket that systemd has opened, or one of our own.
    private static func socket(_ paths: ServicePaths) throws(DaemonError) -> ListeningSocket {
        switch sd_listen_fds(1) {
        case 0: return .path(paths.socket.path)
        case 1: return .inherited(descriptor: SD_LISTEN_FDS_START)
        case let count:
            throw .configuration("systemd handed over \(count) sockets; nightshiftd.socket names one.")
        }
    }

    /// What the umask leaves of rw-rw-rw-. Called before any thread could create a file.
    private static func fileMode() -> UInt32 {
        // What the service makes for itself holds credentials: from here on it is private from its first moment.
        0o666 & ~umask(0o077)
    }
}

/// Connects a request of the API with the group that serves it.
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
