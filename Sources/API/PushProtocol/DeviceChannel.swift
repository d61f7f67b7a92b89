/// The device's end of a channel to a gateway. It turns inputs into actions.
///
/// A pure value, without a clock, randomness or disk access. The allowed transitions are: `idle` to `awaitingHello`;
/// `awaitingHello` to `signing` or `enrolling`; `enrolling` to `enrolled`; `signing` to `awaitingConnected`;
/// `awaitingConnected` to `open`; every state to `closed`.
package struct DeviceChannel: Sendable {
    package enum State: Sendable, Hashable {
        case idle
        case awaitingHello
        case signing
        case awaitingConnected
        case open
        case enrolling
        case enrolled
        case closed
    }

    /// The purpose of the connection.
    package enum Purpose: Sendable, Hashable {
        case connect(DeviceID)
        case enrol(code: String, key: [UInt8], name: String)
    }

    package enum Action: Sendable, Hashable {
        case send(Frame)
        /// The action that signs the bytes with the device's key. The caller then calls ``DeviceChannel/signed(_:)``.
        case sign([UInt8])
        /// The report that the gateway has enrolled this device. It is the last action of the channel.
        case enrolled(DeviceID)
        /// The report that the device is connected and that pushes may arrive. The device must send a keep-alive at
        /// least once within this number of seconds. UnifiedPush endpoints begin with the URL `endpoints`; nil if the
        /// gateway does not have any.
        case connected(keepAlive: UInt32, endpoints: String? = nil)
        /// The action that writes the push to disk. The caller then calls ``DeviceChannel/stored(_:)``.
        case store(Message)
        /// The report that the gateway has answered a keep-alive. Before this answer, the gateway has sent all pushes
        /// that it held back.
        case keepAliveAnswered
        case registered(topic: String, token: String)
        case unregistered(topic: String)
        case refused(topic: String, Refusal)
        /// The action that closes the connection. `retryAfter` is a pause in seconds that the gateway requests; 0 for
        /// none.
        case close(Refusal, retryAfter: UInt32)
    }

    package private(set) var state = State.idle
    private var decoder = FrameDecoder()
    private let purpose: Purpose
    private var keepAlive: UInt32
    private var deviceState: ReportedActivity
    private var topics: [TopicChoice]
    private var isPinging = false
    /// The pushes that are being written to disk. A push that arrives again in the meantime is not written twice.
    private var storing: Set<PushID> = []
    private var requests: [UInt32: String] = [:]
    private var lastRequest: UInt32 = 0

    /// The maximum number of pushes that wait to be written to disk: four times the number that a gateway sends without
    /// an acknowledgement.
    package static let storingLimit = 256

    package init(
        _ purpose: Purpose, keepAlive: UInt32 = 0, state deviceState: ReportedActivity = .active,
        topics: [TopicChoice] = []
    ) {
        self.purpose = purpose
        self.keepAlive = keepAlive
        self.deviceState = deviceState
        self.topics = topics
    }

    // MARK: - Inputs from the network

    /// Handles the opening of the connection, after the gateway's certificate has been verified.
    package mutating func opened() {
        if state == .idle { state = .awaitingHello }
    }

    package mutating func received(_ bytes: some Collection<UInt8>) -> [Action] {
        guard state != .closed else { return [] }
        let (frames, error) = decoder.append(bytes)
        var actions: [Action] = []
        for frame in frames where state != .closed { actions += received(frame) }
        if let error, state != .closed { actions += close(Refusal(.protocolError, error.description)) }
        return actions
    }

    private mutating func received(_ frame: Frame) -> [Action] {
        switch (state, frame) {
        case (_, .goAway(let refusal, let retryAfter)):
            state = .closed
            return [.close(refusal, retryAfter: retryAfter)]
        case (.awaitingHello, .hello(let version, let nonce)): return greet(version, nonce)
        case (.enrolling, .enrolled(let device)):
            state = .enrolled
            return [.enrolled(device)]
        case (.awaitingConnected, .connected(let keepAlive, let endpoints)):
            state = .open
            // These frames carry the changes that occurred while the device waited to be connected.
            return [
                .connected(keepAlive: keepAlive, endpoints: endpoints), .send(.topics(topics)),
                .send(.state(deviceState)),
            ]
        case (.open, .message(let message)):
            guard storing.count < Self.storingLimit || storing.contains(message.id) else {
                return close(Refusal(.tooMuch, "The gateway sends pushes faster than they are acknowledged."))
            }
            return storing.insert(message.id).inserted ? [.store(message)] : []
        case (.open, .pong) where isPinging:
            isPinging = false
            return [.keepAliveAnswered]
        case (.open, .registered(let request, let topic, let token)) where requests[request] == topic:
            requests[request] = nil
            return [.registered(topic: topic, token: token)]
        case (.open, .unregistered(let request)):
            guard let topic = requests.removeValue(forKey: request) else { break }
            return [.unregistered(topic: topic)]
        case (.open, .refused(let request, let refusal)):
            guard let topic = requests.removeValue(forKey: request) else { break }
            return [.refused(topic: topic, refusal)]
        default: break
        }
        return close(Refusal(.protocolError, "The frame '\(frame.kind)' is not allowed in this state."))
    }

    private mutating func greet(_ version: UInt8, _ nonce: [UInt8]) -> [Action] {
        guard version == ProtocolLimits.version else {
            return close(Refusal(.version, "The gateway uses the unsupported protocol version \(version)."))
        }
        switch purpose {
        case .connect(let device):
            state = .signing
            return [.sign(Connect.signedBytes(device: device, nonce: nonce))]
        case .enrol(let code, let key, let name):
            state = .enrolling
            return [.send(.enrol(code: code, key: key, name: name))]
        }
    }

    // MARK: - Inputs from the device

    package mutating func signed(_ signature: [UInt8]) -> [Action] {
        guard state == .signing, case .connect(let device) = purpose else { return [] }
        state = .awaitingConnected
        return [
            .send(
                .connect(
                    Connect(
                        device: device, signature: signature, keepAlive: keepAlive, state: deviceState, topics: topics))
            )
        ]
    }

    /// Handles the report that a push is on disk, and returns its acknowledgement. The push may have been on disk
    /// before.
    package mutating func stored(_ push: PushID) -> [Action] {
        guard storing.remove(push) != nil, state == .open else { return [] }
        return [.send(.acknowledge(push))]
    }

    /// Returns a keep-alive, which announces the next one in `interval` seconds. Returns an empty list while an earlier
    /// keep-alive is unanswered.
    package mutating func keepAliveDue(next interval: UInt32) -> [Action] {
        keepAlive = interval
        guard state == .open, !isPinging else { return [] }
        isPinging = true
        return [.send(.ping(interval: interval))]
    }

    package mutating func change(topics: [TopicChoice]) -> [Action] {
        self.topics = topics
        return state == .open ? [.send(.topics(topics))] : []
    }

    package mutating func change(state deviceState: ReportedActivity) -> [Action] {
        self.deviceState = deviceState
        return state == .open ? [.send(.state(deviceState))] : []
    }

    /// Requests a token for a topic. Returns an empty list if the channel is not open. The caller must then repeat the
    /// request once the channel is open.
    package mutating func register(_ topic: String, fresh: Bool) -> [Action] {
        guard let request = nextRequest(topic) else { return [] }
        return [.send(.register(request: request, topic: topic, fresh: fresh))]
    }

    package mutating func unregister(_ topic: String) -> [Action] {
        guard let request = nextRequest(topic) else { return [] }
        return [.send(.unregister(request: request, topic: topic))]
    }

    private mutating func nextRequest(_ topic: String) -> UInt32? {
        guard state == .open else { return nil }
        lastRequest &+= 1
        requests[lastRequest] = topic
        return lastRequest
    }

    /// Closes the channel, because no response arrived in time.
    package mutating func timedOut() -> [Action] {
        close(Refusal(.idle, "The gateway did not respond in time."))
    }

    /// Closes the channel with a reason.
    package mutating func close(_ refusal: Refusal) -> [Action] {
        guard state != .closed else { return [] }
        let wasOpen = state != .idle
        state = .closed
        return (wasOpen ? [.send(.goAway(refusal, retryAfter: 0))] : []) + [.close(refusal, retryAfter: 0)]
    }

    /// Handles the loss of the connection.
    package mutating func lost() {
        state = .closed
        isPinging = false
    }
}
