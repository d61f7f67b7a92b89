import Foundation
import NightshiftCurl
import Push
import PushProtocol
import Synchronization
import TestSupport

/// The gateway's side of the service's connections, in memory. It uses the gateway's real state machine, and acts as
/// the test requires.
final class ScriptedGateway: Sendable {
    struct Connection {
        var request: CurlChannelRequest
        var delegate: any CurlChannelDelegate
        var channel: GatewayChannel
        var isOpen = true
        /// Whether the service has handled the last bytes.
        var isReady = true
        /// Bytes that the service has not received yet.
        var queue: [UInt8] = []
        /// Whether the connection ends after the queued bytes.
        var isEnding = false
    }

    struct State {
        var connections: [Connection] = []
        /// Whether the gateway can be reached.
        var isThere = true
        var refusal: Refusal?
        var signatures: [(device: DeviceID, signature: [UInt8], bytes: [UInt8])] = []
        var codes: [String] = []
        var keys: [[UInt8]] = []
        var registered: [String] = []
        var unregistered: [String] = []
        var acknowledged: [PushID] = []
        var topics: [TopicChoice] = []
        var states: [ReportedActivity] = []
        var pings = 0
        var answersPings = true
        var answersRegistrations = true
        /// The prefix of the UnifiedPush endpoints that the gateway issues.
        var endpoints: String?
    }

    let state = Watched(State())
    private let calls = DispatchQueue(label: "scripted gateway")

    static let device = DeviceID(high: 7, low: 7)
    private static let nonce = [UInt8](repeating: 9, count: ProtocolLimits.nonceLength)

    func connect(_ request: CurlChannelRequest, _ delegate: any CurlChannelDelegate) -> PushWire {
        let number = state.update { state in
            state.connections.append(
                Connection(
                    request: request, delegate: delegate,
                    channel: GatewayChannel(nonce: Self.nonce, keepAlive: 240, endpoints: state.endpoints)))
            return state.connections.count - 1
        }
        calls.async {
            guard self.state.read({ $0.isThere }) else { return self.end(number, code: 7) }
            delegate.opened()
            self.apply(self.state.update { $0.connections[number].channel.start() }, number)
        }
        return PushWire(
            send: { bytes in self.calls.async { self.received(bytes, number) } },
            resume: { self.calls.async { self.resume(number) } },
            close: { self.calls.async { self.state.update { $0.connections[number].isOpen = false } } })
    }

    // MARK: - Actions of the test

    /// The index of the last open connection.
    private var last: Int? { state.read { $0.connections.lastIndex(where: \.isOpen) } }

    func send(_ message: Message) {
        calls.async {
            guard let last = self.last else { return }
            self.apply(self.state.update { $0.connections[last].channel.deliver(message) }, last)
        }
    }

    func endpoints(_ url: String) { state.update { $0.endpoints = url } }

    func goAway(_ refusal: Refusal, retryAfter: UInt32) {
        calls.async {
            guard let last = self.last else { return }
            self.apply(self.state.update { $0.connections[last].channel.close(refusal, retryAfter: retryAfter) }, last)
        }
    }

    /// Cuts the open connection.
    func cut() {
        calls.async {
            if let last = self.last { self.end(last, code: 56) }
        }
    }

    // MARK: - The connection

    private func end(_ number: Int, code: Int32) {
        let delegate = state.update { state in
            state.connections[number].isOpen = false
            return state.connections[number].delegate
        }
        delegate.ended(CurlEnd(code: code, message: "scripted"))
    }

    private func resume(_ number: Int) {
        state.update { $0.connections[number].isReady = true }
        pump(number)
    }

    /// Delivers waiting bytes as libcurl does: only after the service has handled the last ones.
    private func pump(_ number: Int) {
        let bytes = state.update { state -> [UInt8] in
            guard state.connections[number].isReady, !state.connections[number].queue.isEmpty else { return [] }
            let bytes = state.connections[number].queue
            state.connections[number].queue = []
            state.connections[number].isReady = false
            return bytes
        }
        if !bytes.isEmpty { return state.read { $0.connections[number].delegate }.received(bytes) }
        let hasEnded = state.read { state in
            let connection = state.connections[number]
            return connection.isEnding && connection.isOpen && connection.isReady && connection.queue.isEmpty
        }
        if hasEnded { end(number, code: 0) }
    }

    private func received(_ bytes: [UInt8], _ number: Int) {
        guard state.read({ $0.connections[number].isOpen }) else { return }
        apply(state.update { $0.connections[number].channel.received(bytes) }, number)
    }

    private func apply(_ actions: [GatewayChannel.Action], _ number: Int) {
        for action in actions {
            let more = state.update { Self.execute(action, number, &$0) }
            apply(more, number)
            if case .close = action { state.update { $0.connections[number].isEnding = true } }
        }
        pump(number)
    }

    private static func execute(
        _ action: GatewayChannel.Action, _ number: Int, _ state: inout State
    ) -> [GatewayChannel.Action] {
        switch action {
        case .send(let frame): state.connections[number].queue += frame.encoded
        case .verify(let device, let signature, let bytes):
            state.signatures.append((device, signature, bytes))
            return state.connections[number].channel.verified(state.refusal)
        case .enrol(let code, let key, _):
            state.codes.append(code)
            state.keys.append(key)
            let result: Result<DeviceID, Refusal> = state.refusal.map { .failure($0) } ?? .success(device)
            return state.connections[number].channel.enrolled(result)
        case .opened(_, let device, let topics):
            state.states.append(device)
            state.topics = topics
        case .topics(let topics): state.topics = topics
        case .state(let device): state.states.append(device)
        case .acknowledged(let push): state.acknowledged.append(push)
        case .keepAlive:
            state.pings += 1
            if state.answersPings { return state.connections[number].channel.answerKeepAlive() }
        case .register(let request, let topic, _):
            state.registered.append(topic)
            guard state.answersRegistrations else { break }
            let answer = Frame.registered(request: request, topic: topic, token: "aa\(topic.utf8.count)")
            return state.connections[number].channel.answer(answer)
        case .unregister(let request, let topic):
            state.unregistered.append(topic)
            return state.connections[number].channel.answer(.unregistered(request: request))
        case .close: break
        }
        return []
    }
}
