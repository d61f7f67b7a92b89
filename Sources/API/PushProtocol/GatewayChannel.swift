/// The gateway's end of a channel to a device. It turns inputs into actions.
///
/// A pure value, without a clock or randomness. The allowed transitions are: `greeting` to `checking` and `enrolling`;
/// both of these to `open`, `greeting` (after an enrolment) and `closed`; `open` to `closed`. The caller measures the
/// time limit ``timeout``.
package struct GatewayChannel: Sendable {
    package enum State: Sendable, Hashable {
        /// The gateway waits for the device to identify itself or to enrol.
        case greeting
        /// The caller is verifying the device's signature.
        case checking(Connect)
        case enrolling
        case open(DeviceID)
        case closed
    }

    package enum Action: Sendable, Hashable {
        case send(Frame)
        /// The action that verifies that `signature` is the device's signature of `bytes`. The caller then calls
        /// ``GatewayChannel/verified(_:)``.
        case verify(DeviceID, signature: [UInt8], bytes: [UInt8])
        /// The action that creates a device for the user of the code. The caller then calls
        /// ``GatewayChannel/enrolled(_:)``.
        case enrol(code: String, key: [UInt8], name: String)
        /// The report that the device is connected. Its pushes may be sent after the bytes that belong to this action.
        case opened(DeviceID, ReportedActivity, [TopicChoice])
        case topics([TopicChoice])
        case state(ReportedActivity)
        /// The report that the device has stored the push on disk.
        case acknowledged(PushID)
        /// The action that sends the pushes that were held back. The caller then calls
        /// ``GatewayChannel/answerKeepAlive()``.
        case keepAlive
        /// The action that registers a topic. The caller then calls ``GatewayChannel/answer(_:)`` with the result.
        case register(request: UInt32, topic: String, fresh: Bool)
        case unregister(request: UInt32, topic: String)
        /// The action that closes the connection after the bytes that have already been sent.
        case close(Refusal)
    }

    package private(set) var state = State.greeting
    /// The number of seconds within which the next bytes must arrive.
    package private(set) var timeout = ProtocolLimits.handshakeTimeout
    private var decoder = FrameDecoder()
    private let nonce: [UInt8]
    private let keepAlive: UInt32
    private let endpoints: String?
    /// The number of requests without a response. A device that sends requests faster than it reads responses is
    /// disconnected.
    private var requests = 0

    package static let requestLimit = 64

    /// Creates the gateway's end of a new connection.
    ///
    /// - Parameters:
    ///   - keepAlive: the number of seconds between keep-alives, if the device does not request an allowed value.
    ///   - endpoints: the public URL of the gateway; nil if it has no UnifiedPush endpoints.
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

    /// Sets the timeout to one and a half times the interval of keep-alives, plus the delay of a slow network.
    private mutating func expect(_ interval: UInt32) {
        timeout = chosen(interval) * 3 / 2 + 30
    }

    private func chosen(_ interval: UInt32) -> Int {
        let range = ProtocolLimits.keepAlive
        return min(max(Int(interval == 0 ? keepAlive : interval), range.lowerBound), range.upperBound)
    }

    // MARK: - Inputs from the gateway

    /// Handles the result of verifying the device's signature.
    ///
    /// - Parameter refusal: the reason to refuse the device; nil if the signature is valid.
    package mutating func verified(_ refusal: Refusal?) -> [Action] {
        guard case .checking(let connect) = state else { return [] }
        if let refusal { return close(refusal) }
        state = .open(connect.device)
        expect(connect.keepAlive)
        return [
            // This action precedes the response. When a sender has seen the response, the device therefore already
            // counts as connected.
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

    /// Closes the channel, because no bytes arrived within ``timeout``.
    package mutating func timedOut() -> [Action] {
        close(Refusal(.idle, "Nothing was received for \(timeout) s."))
    }

    /// Closes the channel with a reason.
    package mutating func close(_ refusal: Refusal, retryAfter: UInt32 = 0) -> [Action] {
        guard state != .closed else { return [] }
        state = .closed
        return [.send(.goAway(refusal, retryAfter: retryAfter)), .close(refusal)]
    }

    /// Handles the loss of the connection.
    package mutating func lost() {
        state = .closed
    }
}

extension Refusal: Error {}
