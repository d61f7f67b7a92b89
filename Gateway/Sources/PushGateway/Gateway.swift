import CMalloc
import Foundation
package import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import PushProtocol
import PushRouting
package import PushStore
import Synchronization

/// A running gateway, with its components, its listeners and its shutdown.
package final class Gateway: Sendable {
    package let settings: GatewaySettings
    package let store: any GatewayStore
    package let directory: Directory
    package let switchboard: Switchboard
    package let metrics: Metrics
    let requestRates: RequestRates
    let messageRates: RequestRates
    let named = NamedPushes()
    let health = PushHealth()
    let growth: LogSignal
    let logger: Logger
    private let lock: StateLock
    private let group: MultiThreadedEventLoopGroup
    private let stopping = Mutex(false)
    private let channels = Mutex<[any Channel]>([])
    private let devicePort = Mutex(0)
    private let providerPort = Mutex(0)
    private let echo: StoreEcho
    private let providers = ConnectionPlaces()
    private let devices = ConnectionPlaces()

    /// Creates a gateway: locks its state folder and opens its store.
    ///
    /// - Parameter shared: a store for several gateways; nil stores everything in SQLite, in the state folder.
    package init(settings: GatewaySettings, shared: (any GatewayStore)? = nil, logger: Logger) async throws {
        self.settings = settings
        self.logger = logger
        do {
            try FileManager.default.createDirectory(
                atPath: settings.state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw GatewayError("The folder \(settings.state) cannot be created: \(error.localizedDescription)")
        }
        lock = try StateLock(settings.state)
        if let shared {
            store = shared
        } else {
            store = try PushStore(path: settings.state + "/gateway.sqlite")
        }
        directory = try await Directory(store: store)
        metrics = Metrics()
        growth = LogSignal()
        requestRates = RequestRates(settings.requests)
        messageRates = RequestRates(settings.messages)
        switchboard = Switchboard(store: store, settings: settings, metrics: metrics, growth: growth, logger: logger)
        group = MultiThreadedEventLoopGroup(numberOfThreads: settings.threads)
        echo = StoreEcho(directory: directory, switchboard: switchboard, growth: growth, logger: logger)
        store.listen(echo)
        // Read changes that other gateways made before this gateway listened for changes.
        if store.isShared { try await directory.reload() }
    }

    package var isStopping: Bool { stopping.withLock { $0 } }

    /// The ports at which the gateway listens. A port 0 in the settings is replaced by the assigned one.
    package struct Ports: Sendable {
        package var providers: Int
        package var plainProviders: Int?
        package var devices: Int
        package var status: Int
    }

    /// Opens all listeners.
    package func start() async throws -> Ports {
        if let plain = settings.plainProviders, !plain.isLoopback {
            throw GatewayError(
                "Providers without TLS are for development: '\(plain.host)' is not a loopback address.",
                isPermanent: true)
        }
        let judge = try settings.providerAuthority.map { try CertificateJudge(file: $0) }
        let forProviders = try TLSFiles(
            certificate: settings.certificate, key: settings.privateKey, protocols: ["h2", "http/1.1"],
            asksForCertificate: judge != nil, logger: logger)
        let forDevices = try TLSFiles(
            certificate: settings.certificate, key: settings.privateKey, protocols: [], asksForCertificate: false,
            logger: logger)
        let providers = try await listen(
            settings.providers, places: self.providers, limit: settings.providerLimit
        ) { [self] channel, leave in
            try addProvider(to: channel, tls: forProviders, judge: judge, closed: leave)
        }
        providerPort.withLock { $0 = providers.localAddress?.port ?? settings.providers.port }
        var plain: (any Channel)?
        if let address = settings.plainProviders {
            plain = try await listen(
                address, places: self.providers, limit: settings.providerLimit
            ) { [self] channel, leave in
                try addProvider(to: channel, tls: nil, judge: nil, closed: leave)
            }
        }
        let connected = self.devices
        // Devices must authenticate within 20 seconds.
        let devices = try await listen(
            settings.devices, places: self.devices, limit: settings.deviceLimit
        ) { [self] channel, leave in
            // If a peer does not read, stop reading from it. Otherwise its unread responses would fill the memory.
            try channel.pipeline.syncOperations.addHandler(BackPressureHandler())
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: forDevices.context))
            try channel.pipeline.syncOperations.addHandler(WriteGatherer())
            let name = ObjectIdentifier(channel)
            try channel.pipeline.syncOperations.addHandler(
                DeviceConnection(gateway: self, proved: { connected.proved(name) }, closed: leave))
        }
        devicePort.withLock { $0 = devices.localAddress?.port ?? settings.devices.port }
        let status = try await StatusServer.listen(self, group: group)
        let administration = try await AdministrationServer.listen(self, group: group)
        channels.withLock { $0 += [status, administration] }
        return Ports(
            providers: providers.localAddress?.port ?? 0, plainProviders: plain?.localAddress?.port,
            devices: devices.localAddress?.port ?? 0, status: status.localAddress?.port ?? 0)
    }

    /// Opens a listener.
    ///
    /// - Parameter initialize: sets up the pipeline, which begins with a `BackPressureHandler`. Its second argument
    ///   must be called when the connection ends.
    private func listen(
        _ address: GatewaySettings.Address, places: ConnectionPlaces, limit: Int,
        _ initialize: @escaping @Sendable (any Channel, @escaping @Sendable () -> Void) throws -> Void
    ) async throws -> any Channel {
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Keep buffers small, because most connections are silent for most of the time.
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1_024, maximum: 16_384)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard places.enter(channel, limit: limit) else {
                        throw GatewayError("Too many connections.")
                    }
                    let name = ObjectIdentifier(channel)
                    do {
                        try initialize(channel) { places.leave(name) }
                    } catch {
                        places.leave(name)
                        throw error
                    }
                }
            }
            .bind(to: address)
        channels.withLock { $0.append(channel) }
        return channel
    }

    private func addProvider(
        to channel: any Channel, tls: TLSFiles?, judge: CertificateJudge?, closed: @escaping @Sendable () -> Void
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        // Stop reading from a peer that does not read, as for devices. HTTP/2's flow control does not limit responses
        // to small requests.
        try pipeline.addHandler(BackPressureHandler())
        let box = CertificateBox()
        if let tls, let judge {
            try pipeline.addHandler(
                NIOSSLServerHandler(
                    context: tls.context,
                    customVerificationCallbackWithMetadata: { chain, promise in
                        // An untrusted provider receives the error as the response to a request, so the handshake
                        // does not fail.
                        promise.completeWithTask {
                            box.set(await judge.judge(chain))
                            return .certificateVerified(VerificationMetadata(nil))
                        }
                    }))
        } else if let tls {
            try pipeline.addHandler(NIOSSLServerHandler(context: tls.context))
        }
        try pipeline.addHandler(WriteGatherer())
        try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(Int64(settings.providerIdle))))
        let places = self.providers
        let name = ObjectIdentifier(channel)
        let proved: @Sendable () -> Void = { places.proved(name) }
        try pipeline.addHandler(
            VersionChooser(closed: closed) { [self] channel, version in
                // A resumed TLS session has the certificate of the original session, and does not call the
                // verification callback.
                if let judge, box.verdict == CertificateVerdict.none,
                    let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
                {
                    box.set(judge.judge(resumed: certificate))
                }
                switch version {
                case .http2: try addHTTP2(to: channel, box, proved: proved, closed: closed)
                case .http1: try addHTTP1(to: channel, proved: proved, closed: closed)
                }
            })
    }

    private func addHTTP2(
        to channel: any Channel, _ box: CertificateBox, proved: @escaping @Sendable () -> Void,
        closed: @escaping @Sendable () -> Void
    ) throws {
        let connection = ProviderConnection(settings: settings, certificate: box, proved: proved, closed: closed)
        let shared = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        var connectionSettings = NIOHTTP2Handler.ConnectionConfiguration()
        connectionSettings.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8_192),
            HTTP2Setting(parameter: .initialWindowSize, value: 65_535),
        ]
        var streamSettings = NIOHTTP2Handler.StreamConfiguration()
        streamSettings.streamErrorRateLimit.maximumCount = 1_000
        let http2 = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connectionSettings,
            streamConfiguration: streamSettings
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(ProviderStream(gateway: self, connection: shared.value))
            }
        }
        try channel.pipeline.syncOperations.addHandlers(http2, connection)
    }

    /// Adds the HTTP/1.1 handlers for senders to UnifiedPush endpoints. APNs uses only HTTP/2.
    private func addHTTP1(
        to channel: any Channel, proved: @escaping @Sendable () -> Void, closed: @escaping @Sendable () -> Void
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(SenderConnection(gateway: self, proved: proved, closed: closed))
    }

    /// Deletes expired pushes and reads missed changes once a minute, until the task is cancelled.
    package func maintain() async throws {
        while true {
            do throws(StoreError) {
                try await tidy()
            } catch {
                // The disk may be full now and have space later. Devices are still served, so log the error and
                // continue.
                logger.error("Expired pushes could not be removed.", metadata: ["reason": "\(error)"])
            }
            do throws(StoreError) {
                try await store.catchUp()
            } catch {
                logger.error("Changes by other gateways could not be read.", metadata: ["reason": "\(error)"])
            }
            switchboard.sweep()
            let hasShrunk = [providers.hasShrunk(), devices.hasShrunk()].contains(true)
            // The allocator keeps the memory of closed connections, and returns that memory to the system only on
            // request.
            if hasShrunk { malloc_trim(0) }
            try await Task.sleep(for: .seconds(60))
        }
    }

    private func tidy() async throws(StoreError) {
        let now = GatewayClock.now()
        try await store.tidy(now: now, logLimit: settings.logLimit)
    }

    /// Stops the gateway: answers pending requests, notifies devices and providers, and closes all connections.
    package func stop() async throws {
        stopping.withLock { $0 = true }
        for channel in channels.withLock({ $0 }) { try? await channel.close() }
        switchboard.endAll(Refusal(.shutdown, "The gateway is shutting down."))
        let ending = providers.channels
        for channel in ending { channel.pipeline.fireUserInboundEventTriggered(GatewayStops()) }
        for channel in ending { try? await channel.closeFuture.get() }
        // Wait until all accepted pushes are on the disk.
        try await store.settle()
        try await group.shutdownGracefully()
        try await store.close()
    }

    /// Returns the URL to which a device connects to enrol with `code`.
    func enrolmentURL(_ code: String) -> String {
        "nightshift-push://\(settings.publicName):\(devicePort.withLock { $0 })/\(code)"
    }

    /// The base URL of UnifiedPush endpoints.
    var publicURL: String {
        if let url = settings.publicURL { return url }
        let port = providerPort.withLock { $0 }
        return "https://\(settings.publicName)" + (port == 443 ? "" : ":\(port)")
    }

    package func counts() -> (providers: Int, devices: Int) {
        (providers.taken, devices.taken)
    }
}

/// An event that notifies a connection of the gateway's shutdown.
struct GatewayStops: Sendable {}

/// An error because of which the gateway cannot run, or cannot do what was requested.
package struct GatewayError: Error, CustomStringConvertible {
    package var description: String
    /// Whether every retry fails with the same error until a person has changed something.
    package var isPermanent: Bool

    package init(_ description: String, isPermanent: Bool = false) {
        self.description = description
        self.isPermanent = isPermanent
    }
}
