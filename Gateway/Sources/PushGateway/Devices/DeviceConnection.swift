import Crypto
import Foundation
import NIOCore
import PushProtocol
import PushRouting
import PushStore

/// A device's connection. It passes bytes to its ``GatewayChannel`` and executes the channel's actions.
///
/// Confined to its event loop.
final class DeviceConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let gateway: Gateway
    private let proved: @Sendable () -> Void
    private let closed: @Sendable () -> Void
    private var channel: GatewayChannel
    private var context: ChannelHandlerContext?
    private var device: DeviceID?
    private var number: UInt64?
    /// The timer that closes an idle connection. It fires no later than ``timeoutEnd``, and then compares the time with
    /// it. The timer is not cancelled for every byte, because a cancellation is more expensive with more connections.
    private var timeout: (at: NIODeadline, timer: Scheduled<Void>)?
    private var timeoutEnd = NIODeadline.distantFuture
    /// The timer for the earliest time at which a held push may be due, and that time.
    private var turn: (at: Int64, timer: Scheduled<Void>)?

    /// Creates the handler of a device's connection.
    ///
    /// - Parameter proved: called when the device has authenticated.
    init(gateway: Gateway, proved: @escaping @Sendable () -> Void, closed: @escaping @Sendable () -> Void) {
        self.gateway = gateway
        self.proved = proved
        self.closed = closed
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<ProtocolLimits.nonceLength).map { _ in UInt8.random(in: 0...255, using: &random) }
        channel = GatewayChannel(nonce: nonce, keepAlive: gateway.settings.keepAlive, endpoints: gateway.publicURL)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin() }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin()
        context.fireChannelActive()
    }

    private func begin() {
        perform(channel.start())
        restartTimeout()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.timer.cancel()
        turn?.timer.cancel()
        channel.lost()
        self.context = nil
        if let device, let number { gateway.switchboard.disconnected(device, connection: number) }
        closed()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let before = channel.state
        perform(channel.received(unwrapInboundIn(data).readableBytesView))
        // Before authentication only a change of state extends the timeout. Single bytes do not extend it.
        if case .open = channel.state { restartTimeout() } else if channel.state != before { restartTimeout() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func restartTimeout() {
        guard context != nil, channel.state != .closed else { return }
        timeoutEnd = .now() + .seconds(Int64(channel.timeout))
        if let timeout {
            guard timeoutEnd < timeout.at else { return }
            timeout.timer.cancel()
        }
        armTimeout()
    }

    private func armTimeout() {
        guard let context else { return }
        let timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: timeoutEnd) {
            self.timeout = nil
            guard self.channel.state != .closed else { return }
            if self.timeoutEnd > .now() { self.armTimeout() } else { self.perform(self.channel.timedOut()) }
        }
        timeout = (timeoutEnd, timer)
    }

    // MARK: - Requests to the device

    func send(_ message: Message) {
        perform(channel.deliver(message))
    }

    func answerKeepAlive() {
        perform(channel.answerKeepAlive())
    }

    func close(_ refusal: Refusal, retryAfter: UInt32 = 0) {
        perform(channel.close(refusal, retryAfter: retryAfter))
    }

    func wake(at time: Int64) {
        guard let context, let device, let number else { return }
        if let turn, turn.at <= time { return }
        turn?.timer.cancel()
        let wait = max(0, time - GatewayClock.now().wallMilliseconds)
        let timer = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(wait)) {
            self.turn = nil
            self.gateway.switchboard.turn(device, connection: number)
        }
        turn = (time, timer)
    }

    // MARK: - Requests of the device

    private func perform(_ actions: [GatewayChannel.Action]) {
        for action in actions {
            switch action {
            case .send(let frame):
                guard let context else { break }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: frame.encoded)), promise: nil)
            case .verify(let device, let signature, let bytes): verify(device, signature, bytes)
            case .enrol(let code, let key, let name): enrol(code, key, name)
            case .opened(let device, let state, let topics):
                self.device = device
                proved()
                guard let context else { break }
                let link = Link(
                    eventLoop: context.eventLoop, connection: NIOLoopBound(self, eventLoop: context.eventLoop))
                number = gateway.switchboard.connected(device, state, topics, link: link)
            case .topics(let topics): known { gateway.switchboard.changed($0, to: topics, connection: $1) }
            case .state(let state): known { gateway.switchboard.changed($0, to: state, connection: $1) }
            case .acknowledged(let push): known { gateway.switchboard.acknowledged(push, $0, connection: $1) }
            case .keepAlive: known { gateway.switchboard.keptAlive($0, connection: $1) }
            case .register(let request, let topic, let fresh): register(request, topic, fresh)
            case .unregister(let request, let topic): unregister(request, topic)
            case .close: context?.close(promise: nil)
            }
        }
    }

    private func known(_ body: (DeviceID, UInt64) -> Void) {
        if let device, let number { body(device, number) }
    }

    /// Runs `body`, and passes its result to the continuation on the event loop.
    private func ask<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value, then: @escaping (Result<Value, any Error>) -> Void
    ) {
        guard let context else { return }
        context.eventLoop.makeFutureWithTask(body).assumeIsolated().whenComplete(then)
    }

    private func verify(_ device: DeviceID, _ signature: [UInt8], _ bytes: [UInt8]) {
        let store = gateway.store
        let refused = Refusal(.notAuthenticated, "The gateway does not know this device, or its signature is wrong.")
        ask {
            let record = try await store.deviceConnects(device)
            guard let record, record.revokedAt == nil else { return refused }
            let key = try Curve25519.Signing.PublicKey(rawRepresentation: record.publicKey)
            return key.isValidSignature(signature, for: bytes) ? nil : refused
        } then: { (result: Result<Refusal?, any Error>) in
            switch result {
            case .success(let refusal):
                if refusal != nil { self.gateway.metrics.count("nightshift_gateway_refused_devices_total") }
                self.perform(self.channel.verified(refusal))
            case .failure:
                self.perform(self.channel.close(Refusal(.trouble, "The gateway's storage failed."), retryAfter: 60))
            }
            self.restartTimeout()
        }
    }

    private func enrol(_ code: String, _ key: [UInt8], _ name: String) {
        let store = gateway.store
        ask {
            let hash = EnrolmentCode.hash(code)
            var random = SystemRandomNumberGenerator()
            let id = DeviceID(using: &random)
            let now = GatewayClock.now().wallMilliseconds
            return try await store.enrol(id, hash: hash, key: key, name: name.isEmpty ? nil : name, now: now)?.id
        } then: { (result: Result<DeviceID?, any Error>) in
            switch result {
            case .success(let device?): self.perform(self.channel.enrolled(.success(device)))
            case .success(nil):
                let refusal = Refusal(.enrolmentCode, "The enrolment code is unknown, already used or expired.")
                self.perform(self.channel.enrolled(.failure(refusal)))
            case .failure:
                self.perform(self.channel.enrolled(.failure(Refusal(.trouble, "The device could not be created."))))
            }
            self.restartTimeout()
        }
    }

    private func register(_ request: UInt32, _ topic: String, _ isFreshWanted: Bool) {
        guard let device else { return }
        // A UnifiedPush registration belongs to its device, but an app's topic must belong to a team.
        guard UnifiedPushTopic(topic) != nil || gateway.directory.topic(topic) != nil else {
            let refusal = Refusal(.unknownTopic, "The topic '\(topic)' is not registered at the gateway.")
            return perform(channel.answer(.refused(request: request, refusal)))
        }
        let gateway = self.gateway
        ask {
            var random = SystemRandomNumberGenerator()
            let fresh = (0..<4).map { _ in
                let digits = String(random.next(), radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
            let answer = try await gateway.store.register(
                topic, device: device, fresh: fresh, isFreshWanted: isFreshWanted,
                limit: gateway.settings.tokenLimit, at: GatewayClock.now().wallMilliseconds)
            if let ended = answer.ended { gateway.directory.forget([ended]) }
            return answer.token
        } then: { (result: Result<String, any Error>) in
            switch result {
            case .success(let token):
                self.perform(self.channel.answer(.registered(request: request, topic: topic, token: token)))
            case .failure(let error):
                let code: RefusalCode = (error as? StoreError)?.code == .refused ? .tooMuch : .trouble
                self.perform(self.channel.answer(.refused(request: request, Refusal(code, "\(error)"))))
            }
        }
    }

    private func unregister(_ request: UInt32, _ topic: String) {
        guard let device else { return }
        let gateway = self.gateway
        ask {
            let now = GatewayClock.now().wallMilliseconds
            if let token = try await gateway.store.unregister(topic, device: device, at: now) {
                gateway.directory.forget([token])
            }
        } then: { (result: Result<Void, any Error>) in
            switch result {
            case .success: self.perform(self.channel.answer(.unregistered(request: request)))
            case .failure(let error):
                self.perform(self.channel.answer(.refused(request: request, Refusal(.trouble, "\(error)"))))
            }
        }
    }

    /// A reference to a connection, for the switchboard.
    private struct Link: DeviceLink {
        let eventLoop: any EventLoop
        let connection: NIOLoopBound<DeviceConnection>

        func send(_ message: Message) {
            eventLoop.execute { connection.value.send(message) }
        }

        func answerKeepAlive() {
            eventLoop.execute { connection.value.answerKeepAlive() }
        }

        func wake(at time: Int64) {
            eventLoop.execute { connection.value.wake(at: time) }
        }

        func close(_ refusal: Refusal) {
            eventLoop.execute { connection.value.close(refusal, retryAfter: refusal.code == .shutdown ? 5 : 0) }
        }
    }
}

/// A secret code that enrols one device.
package enum EnrolmentCode {
    /// Generates a code of 160 random bits, in letters and digits that are easy to read aloud.
    package static func make() -> String {
        let letters = Array("abcdefghjkmnpqrstuvwxyz23456789")
        var random = SystemRandomNumberGenerator()
        return String((0..<32).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] })
    }

    /// Returns the hash of a code. A code has so many random bits that the hash needs no salt. Letters in upper case
    /// are accepted, because a person may type the code.
    package static func hash(_ code: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(code.lowercased().utf8)))
    }
}
