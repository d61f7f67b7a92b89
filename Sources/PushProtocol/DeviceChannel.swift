/// The device's end of its channel to a gateway: what came in becomes actions.
///
/// Pure: no clock, no randomness, no disk. The legal exits of its states: `idle` to `awaitingHello`; this to
/// `signing`, or to `enrolling`; `enrolling` to `enrolled`; `signing` to `awaitingConnected`; this to `open`; every
/// one to `closed`.
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

    /// What the connection is for.
    package enum Purpose: Sendable, Hashable {
        case connect(DeviceID)
        case enrol(code: String, key: [UInt8], name: String)
    }

    package enum Action: Sendable, Hashable {
        case send(Frame)
        /// Sign these bytes with the device's key, and answer with ``DeviceChannel/signed(_:)``.
        case sign([UInt8])
        /// The gateway has made this device. The channel is done.
        case enrolled(DeviceID)
        /// Pushes come from now on; a keep-alive is wanted at least so often, in seconds. Endpoints of UnifiedPush
        /// begin with this URL; nil where the gateway has none.
        case connected(keepAlive: UInt32, endpoints: String? = nil)
        /// Write the push to the disk, and then call ``DeviceChannel/stored(_:)``.
        case store(Message)
        /// The gateway has answered a keep-alive; what it held came before.
        case keepAliveAnswered
        case registered(topic: String, token: String)
        case unregistered(topic: String)
        case refused(topic: String, Refusal)
        /// Close the connection. `retryAfter` is in seconds, 0 where the gateway named none.
        case close(Refusal, retryAfter: UInt32)
    }

    package private(set) var state = State.idle
    private var decoder = FrameDecoder()
    private let purpose: Purpose
    private var keepAlive: UInt32
    private var deviceState: DeviceState
    private var topics: [TopicChoice]
    private var isPinging = false
    /// Pushes that are being written: one that comes twice meanwhile is written once.
    private var storing: Set<PushID> = []
    private var requests: [UInt32: String] = [:]
    private var lastRequest: UInt32 = 0

    /// Pushes that may wait to be written: four times what a gateway leaves unacknowledged.
    package static let storingLimit = 256

    package init(
        _ purpose: Purpose, keepAlive: UInt32 = 0, state deviceState: DeviceState = .active, topics: [TopicChoice] = []
    ) {
        self.purpose = purpose
        self.keepAlive = keepAlive
        self.deviceState = deviceState
        self.topics = topics
    }

    // MARK: - Inputs from the network

    /// The connection is made, and the gateway's certificate is good.
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
            // What changed while the signature was checked.
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

    /// The push is on the disk, now or since earlier.
    package mutating func stored(_ push: PushID) -> [Action] {
        guard storing.remove(push) != nil, state == .open else { return [] }
        return [.send(.acknowledge(push))]
    }

    /// Time for a keep-alive: the next one is meant to come in `interval` seconds. Nothing while one waits for its
    /// answer.
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

    package mutating func change(state deviceState: DeviceState) -> [Action] {
        self.deviceState = deviceState
        return state == .open ? [.send(.state(deviceState))] : []
    }

    /// Nothing where the channel is not open: whoever wants a token asks again then.
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

    /// No answer came in time.
    package mutating func timedOut() -> [Action] {
        close(Refusal(.idle, "The gateway did not respond in time."))
    }

    /// Ends the channel, and says why.
    package mutating func close(_ refusal: Refusal) -> [Action] {
        guard state != .closed else { return [] }
        let wasOpen = state != .idle
        state = .closed
        return (wasOpen ? [.send(.goAway(refusal, retryAfter: 0))] : []) + [.close(refusal, retryAfter: 0)]
    }

    /// The connection is gone.
    package mutating func lost() {
        state = .closed
        isPinging = false
    }
}
