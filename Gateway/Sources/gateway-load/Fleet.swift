import Crypto
import NIOCore
import NIOPosix
import NIOSSL
import PushGateway
import PushProtocol

/// The simulated devices and their connections.
actor Fleet {
    private struct Device: Sendable {
        var id: DeviceID
        var key: Curve25519.Signing.PrivateKey
    }

    /// The pause before the first reconnection, in seconds, as for a real device. Each failure doubles the pause.
    private static let firstPause = 5.0
    private static let longestPause = 1_800.0
    private static let attemptTimeout = TimeAmount.seconds(60)
    /// The maximum number of connections from one source address, which has some 28,000 ports.
    private static let perAddress = 20_000

    nonisolated let deliveries = Deliveries()
    /// The number of connections that ended without being closed by this program.
    private(set) var lost = 0
    /// The number of reconnections of devices whose connection was lost.
    private(set) var returned = 0
    private let host: String
    private let port: Int
    private let parallel: Int
    private let context: NIOSSLContext
    private let group = MultiThreadedEventLoopGroup.singleton
    private var devices: [Device] = []
    /// The connections, by the index of the device.
    private var channels: [any Channel] = []
    /// The tasks of devices that are reconnecting, by the index of the device.
    private var returning: [Int: Task<Void, Never>] = [:]
    private var isEnding = false

    init(host: String, port: Int, authority: String, parallel: Int) throws {
        self.host = host
        self.port = port
        self.parallel = parallel
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(authority)
        context = try NIOSSLContext(configuration: configuration)
    }

    // MARK: - Phases

    func enrol(_ count: Int, _ administration: AdministrationClient) async throws -> LoadReport.Phase {
        let start = ContinuousClock.now
        let results = await Self.each(count, parallel) { index in
            let code = try await NIOThreadPool.singleton.runIfActive { try administration.enrolmentCode() }
            let key = Curve25519.Signing.PrivateKey()
            let purpose = DeviceChannel.Purpose.enrol(
                code: code, key: Array(key.publicKey.rawRepresentation), name: "load \(index)")
            let (channel, id) = try await self.open(purpose, key: key, index: index)
            try? await channel.closeFuture.get()
            guard let id else { throw GatewayError("The gateway did not send the device's id.") }
            return Device(id: id, key: key)
        }
        let phase = LoadReport.Phase(count: count, seconds: start.seconds, errors: results.compactMap(\.failure))
        devices = try Self.all(results)
        return phase
    }

    func connect() async throws -> LoadReport.Phase {
        let start = ContinuousClock.now
        let devices = devices
        let results = await Self.each(devices.count, parallel) { index in
            try await self.open(.connect(devices[index].id), key: devices[index].key, index: index).channel
        }
        let phase = LoadReport.Phase(
            count: devices.count, seconds: start.seconds, errors: results.compactMap(\.failure))
        channels = try Self.all(results)
        for index in channels.indices where !channels[index].isActive { bringBack(index) }
        return phase
    }

    /// Returns the devices' tokens for `topic`.
    func register(_ topic: String) async throws -> [String] {
        let channels = channels
        return try Self.all(
            await Self.each(channels.count, parallel) { index in
                let channel = channels[index]
                let token = channel.eventLoop.makePromise(of: String.self)
                channel.pipeline.fireUserInboundEventTriggered(
                    LoadConnection.Registration(topic: topic, token: token))
                return try await token.futureResult.get()
            })
    }

    /// Disconnects the first `count` devices at the same time, and lets them reconnect after pauses with jitter.
    func storm(_ count: Int) async throws -> LoadReport.Storm {
        let devices = devices
        for index in 0..<count { returning.removeValue(forKey: index)?.cancel() }
        try await cut(channels.prefix(count))
        let start = ContinuousClock.now
        let results = await Self.each(count, count) { index in
            try await self.comeBack(devices[index], index)
        }
        let seconds = start.seconds
        let returns = try Self.all(results)
        channels.replaceSubrange(0..<count, with: returns.map(\.channel))
        let bySecond = Dictionary(grouping: returns) { Int($0.away) }
        return LoadReport.Storm(
            devices: count, seconds: seconds, away: Spread(returns.map(\.away)),
            attempt: Spread(returns.map(\.attempt)), failedAttempts: returns.reduce(0) { $0 + $1.failures },
            handshakesPerSecond: bySecond.values.map(\.count).max() ?? 0)
    }

    /// Disconnects all devices. They do not reconnect.
    func end() async throws {
        isEnding = true
        for task in returning.values { task.cancel() }
        try await cut(channels[...])
    }

    /// Ends connections silently, without a TLS alert, as a network failure does.
    private func cut(_ channels: ArraySlice<any Channel>) async throws {
        for channel in channels {
            try await channel.eventLoop.submit {
                guard channel.isActive else { return }
                let pipeline = channel.pipeline.syncOperations
                try pipeline.handler(type: LoadConnection.self).isCut = true
                try pipeline.context(handlerType: NIOSSLClientHandler.self).close(promise: nil)
            }.get()
        }
    }

    // MARK: - Devices that reconnect

    /// Reconnects a device after pauses with jitter, as a real device does.
    private nonisolated func comeBack(_ device: Device, _ index: Int) async throws -> Return {
        let start = ContinuousClock.now
        var failures = 0
        while true {
            let pause = min(Self.firstPause * Double(1 << min(failures, 10)), Self.longestPause)
            try await Task.sleep(for: .seconds(pause * Double.random(in: 0.5..<1)))
            let began = ContinuousClock.now
            do {
                let channel = try await open(.connect(device.id), key: device.key, index: index).channel
                return Return(channel: channel, away: start.seconds, attempt: began.seconds, failures: failures)
            } catch {
                failures += 1
            }
        }
    }

    /// Handles the end of a connection that this program did not close: a gateway has restarted or has closed the
    /// connection.
    private func connectionLost(_ index: Int) {
        lost += 1
        // The list is empty until all devices have connected once.
        if channels.indices.contains(index) { bringBack(index) }
    }

    private func bringBack(_ index: Int) {
        guard !isEnding, returning[index] == nil else { return }
        let device = devices[index]
        returning[index] = Task {
            let channel = try? await comeBack(device, index).channel
            guard !Task.isCancelled else {
                channel?.close(promise: nil)
                return
            }
            returning[index] = nil
            guard let channel else { return }
            channels[index] = channel
            returned += 1
            // The connection may have ended before it was added to the list.
            if !channel.isActive { bringBack(index) }
        }
    }

    private struct Return: Sendable {
        var channel: any Channel
        var away: Double
        var attempt: Double
        var failures: Int
    }

    // MARK: - One connection

    /// Opens a connection, and returns when its purpose is fulfilled, such as the enrolment of a device.
    private nonisolated func open(
        _ purpose: DeviceChannel.Purpose, key: Curve25519.Signing.PrivateKey, index: Int
    ) async throws -> (channel: any Channel, device: DeviceID?) {
        let loop = group.next()
        let outcome = loop.makePromise(of: DeviceID?.self)
        let timeout = loop.scheduleTask(in: Self.attemptTimeout) {
            outcome.fail(GatewayError("The gateway did not answer."))
        }
        defer { timeout.cancel() }
        var bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(Self.attemptTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { [context, deliveries] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    try pipeline.addHandler(
                        LoadConnection(purpose, key: key, deliveries: deliveries, outcome: outcome) {
                            Task { await self.connectionLost(index) }
                        })
                }
            }
        let address = index / Self.perAddress
        if address > 0 {
            bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: "127.0.0.\(1 + address)", port: 0))
        }
        let channel: any Channel
        do {
            channel = try await bootstrap.connect(host: host, port: port).get()
        } catch {
            outcome.fail(error)
            throw error
        }
        do {
            return (channel, try await outcome.futureResult.get())
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }

    // MARK: - Many at once

    /// Runs `body` for each index, at most `parallel` at the same time. Returns the results in the order of the
    /// indices.
    private static func each<Value: Sendable>(
        _ count: Int, _ parallel: Int, _ body: @escaping @Sendable (Int) async throws -> Value
    ) async -> [Result<Value, any Error>] {
        await withTaskGroup(of: (Int, Result<Value, any Error>).self) { group in
            @Sendable func one(_ index: Int) async -> (Int, Result<Value, any Error>) {
                do {
                    return (index, .success(try await body(index)))
                } catch {
                    return (index, .failure(error))
                }
            }
            var results: [(Int, Result<Value, any Error>)] = []
            var next = min(parallel, count)
            for index in 0..<next { group.addTask { await one(index) } }
            while let result = await group.next() {
                results.append(result)
                guard next < count else { continue }
                let index = next
                next += 1
                group.addTask { await one(index) }
            }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func all<Value>(_ results: [Result<Value, any Error>]) throws -> [Value] {
        try results.map { try $0.get() }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension ContinuousClock.Instant {
    /// The number of seconds since this instant.
    fileprivate var seconds: Double {
        let passed = duration(to: .now).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }
}

extension AdministrationClient {
    /// Requests a code from the gateway that enrols one device.
    fileprivate func enrolmentCode() throws -> String {
        var code: String?
        var refusal = "The gateway returned no code."
        try ask(.enrol(name: "load", lifetime: 3_600)) { reply in
            switch reply {
            case .enrolment(let enrolment): code = enrolment.code
            case .failed(let reason): refusal = reason
            default: break
            }
            return false
        }
        guard let code else { throw GatewayError(refusal) }
        return code
    }
}
