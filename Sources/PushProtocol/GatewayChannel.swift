/// The gateway's end of a channel to a device. It turns inputs into actions.
///
/// It is pure: no clock, no randomness. The legal transitions are: `greeting` to `checking` and `enrolling`; these two
/// to `open`, `greeting` (after an enrolment) and `closed`; `open` to `closed`. The caller measures the timeout
/// ``timeout``.
package struct GatewayChannel: Sendable {
    package enum State: Sendable, Hashable {
        /// The device must identify itself, or enrol.
        case greeting
        /// The caller is verifying the device's signature.
        case checking(Connect)
        case enrolling
        case open(DeviceID)
        case closed
    }

    package enum Action: Sendable, Hashable {
        case send(Frame)
        /// Verify that `signature` is the device's signature of `bytes`, and call ``GatewayChannel/verified(_:)``.
        case verify(DeviceID, signature: [UInt8], bytes: [UInt8])
        /// Create a device for the user of the code, and call ``GatewayChannel/enrolled(_:)``.
        case enrol(code: String, key: [UInt8], name: String)
        /// The device is connected. Its pushes may be sent, after the bytes that are sent with this action.
        case opened(DeviceID, ReportedActivity, [TopicChoice])
        case topics([TopicChoice])
        case state(ReportedActivity)
        /// The device has stored this push on disk.
        case acknowledged(PushID)
        /// Send the pushes that were held back, and then call ``GatewayChannel/answerKeepAlive()``.
        case keepAlive
        /// Call ``GatewayChannel/answer(_:)`` with the result.
        case register(request: UInt32, topic: String, fresh: Bool)
        case unregister(request: UInt32, topic: String)
        /// Close the connection after the bytes that were already sent.
        case close(Refusal)
    }

    package private(set) var state = State.greeting
    /// The timeout in seconds for the next bytes.
    package private(set) var timeout = ProtocolLimits.handshakeTimeout
    private var decoder = FrameDecoder()
    private let nonce: [UInt8]
    private let keepAlive: UInt32
    private let endpoints: String?
    /// The number of unanswered requests. A device that sends requests faster than it reads responses is disconnected.
    private var requests = 0

    package static let requestLimit = 64

    /// - Parameters:
    ///   - keepAlive: the seconds between keep-alives, if the device does not request an allowed value.
    ///   - endpoints: the public URL of the gateway; nil if it has no endpoints of UnifiedPush.
    package init(nonce: [UInt8], keepAlive: UInt32, endpoints: String? = nil) {
        self.nonce = nonce
        self.keepAlive = keepAlive
        self.endpoints = endpoints
    }

    package func start() -> [Action] {
        [.send(.hello(version: ProtocolLimits.version, nonce: nonce))]
    }

    // MARK: - Inputs from the network

    package mutating func received(_ bytes: some Collection<UInt8>) -> [Action] {
        guard state != .closed else { return [] }
        let (frames, error) = decoder.append(bytes)
        var actions: [Action] = []
        for frame in frames where state != .closed { actions += received(frame) }
        if let error, state != .closed { actions += close(Refusal(.protocolError, error.description)) }
        return actions
    }

    private mutating func received(_ frame: Frame) -> [Action] {
        if case .goAway(let refusal, _) = frame {
            state = .closed
            return [.close(refusal)]
        }
        return switch (state, frame) {
        case (.greeting, .connect(let connect)): check(connect)
        case (.greeting, .enrol(let code, let key, let name)): enrol(code, key, name)
        case (.open, .topics(let choices)): [.topics(choices)]
        case (.open, .state(let state)): [.state(state)]
        case (.open, .acknowledge(let push)): [.acknowledged(push)]
        case (.open, .ping(let interval)): ping(interval)
        case (.open, .register(let request, let topic, let fresh)):
            ask(.register(request: request, topic: topic, fresh: fresh))
        case (.open, .unregister(let request, let topic)): ask(.unregister(request: request, topic: topic))
        default: close(Refusal(.protocolError, "The frame '\(frame.kind)' is not allowed in this state."))
        }
    }

    private mutating func check(_ connect: Connect) -> [Action] {
        guard connect.version == ProtocolLimits.version else {
            return close(Refusal(.version, "This gateway uses version \(ProtocolLimits.version) of the protocol."))
        }
        state = .checking(connect)
        let bytes = Connect.signedBytes(device: connect.device, nonce: nonce)
        return [.verify(connect.device, signature: connect.signature, bytes: bytes)]
    }

    private mutating func enrol(_ code: String, _ key: [UInt8], _ name: String) -> [Action] {
        state = .enrolling
        return [.enrol(code: code, key: key, name: name)]
    }

    private mutating func ping(_ interval: UInt32) -> [Action] {
        expect(interval)
        return [.keepAlive]
    }

    private mutating func ask(_ action: Action) -> [Action] {
        requests += 1
        guard requests <= Self.requestLimit else {
            return close(Refusal(.tooMuch, "More than \(Self.requestLimit) requests are waiting for a response."))
        }
        return [action]
    }

    /// Sets the timeout: the interval of keep-alives, half of it, and the delay of a slow network.
    private mutating func expect(_ interval: UInt32) {
        timeout = chosen(interval) * 3 / 2 + 30
    }

    private func chosen(_ interval: UInt32) -> Int {
        let range = ProtocolLimits.keepAlive
        return min(max(Int(interval == 0 ? keepAlive : interval), range.lowerBound), range.upperBound)
    }

    // MARK: - Inputs from the gateway

    /// - Parameter refusal: nil if the signature is valid.
    package mutating func verified(_ refusal: Refusal?) -> [Action] {
        guard case .checking(let connect) = state else { return [] }
        if let refusal { return close(refusal) }
        state = .open(connect.device)
        expect(connect.keepAlive)
        return [
            // This action comes before the response, so that a sender that has seen the response finds the device
            // connected.
            .opened(connect.device, connect.state, connect.topics),
            .send(.connected(keepAlive: UInt32(chosen(connect.keepAlive)), endpoints: endpoints)),
        ]
    }

    package mutating func enrolled(_ result: Result<DeviceID, Refusal>) -> [Action] {
        guard state == .enrolling else { return [] }
        switch result {
        case .success(let device):
            state = .greeting
            return [.send(.enrolled(device))]
        case .failure(let refusal): return close(refusal)
        }
    }

    /// Sends the response to a request: `registered`, `unregistered` or `refused`.
    package mutating func answer(_ frame: Frame) -> [Action] {
        guard case .open = state else { return [] }
        requests -= 1
        return [.send(frame)]
    }

    package func deliver(_ message: Message) -> [Action] {
        guard case .open = state else { return [] }
        return [.send(.message(message))]
    }

    package func answerKeepAlive() -> [Action] {
        guard case .open = state else { return [] }
        return [.send(.pong)]
    }

    /// No bytes arrived within ``timeout``.
    package mutating func timedOut() -> [Action] {
        close(Refusal(.idle, "Nothing was received for \(timeout) s."))
    }

    /// Closes the channel with a reason.
    package mutating func close(_ refusal: Refusal, retryAfter: UInt32 = 0) -> [Action] {
        guard state != .closed else { return [] }
        state = .closed
        return [.send(.goAway(refusal, retryAfter: retryAfter)), .close(refusal)]
    }

    /// The connection was lost.
    package mutating func lost() {
        state = .closed
    }
}

extension Refusal: Error {}
