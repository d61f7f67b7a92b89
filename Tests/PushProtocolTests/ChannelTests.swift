import PushProtocol
import Testing

@Suite struct ChannelTests {
    static func openGateway() -> GatewayChannel {
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        _ = gateway.received(Frame.connect(Samples.connect).encoded)
        _ = gateway.verified(nil)
        return gateway
    }

    static func openDevice() -> DeviceChannel {
        var device = DeviceChannel(.connect(Samples.device))
        device.opened()
        _ = device.received(Frame.hello(version: 1, nonce: Samples.nonce).encoded)
        _ = device.signed(Samples.signature)
        _ = device.received(Frame.connected(keepAlive: 600).encoded)
        return device
    }

    @Test func `R5: A device is accepted only after its signature was verified`() {
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        #expect(gateway.start() == [.send(.hello(version: 1, nonce: Samples.nonce))])
        let actions = gateway.received(Frame.connect(Samples.connect).encoded)
        let bytes = Connect.signedBytes(device: Samples.device, nonce: Samples.nonce)
        #expect(actions == [.verify(Samples.device, signature: Samples.signature, bytes: bytes)])
        #expect(gateway.deliver(Samples.message(1)) == [])
        #expect(
            gateway.verified(nil) == [
                .opened(Samples.device, .idle, Samples.connect.topics), .send(.connected(keepAlive: 600)),
            ], "a push that is sent after the response finds the device connected")
        #expect(gateway.deliver(Samples.message(1)) == [.send(.message(Samples.message(1)))])
    }

    @Test func `R5: A wrong signature ends the connection, after which frames are ignored`() {
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        _ = gateway.received(Frame.connect(Samples.connect).encoded)
        let refusal = Refusal(.notAuthenticated, "no")
        #expect(gateway.verified(refusal) == [.send(.goAway(refusal, retryAfter: 0)), .close(refusal)])
        #expect(gateway.verified(nil) == [])
        #expect(gateway.received(Frame.ping(interval: 60).encoded) == [])
    }

    @Test(arguments: Samples.frames)
    func `R5: The first frame must be enrol or connect, and no other frame may come during its check`(frame: Frame) {
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        let first = gateway.received(frame.encoded)
        switch frame {
        case .connect, .enrol:
            #expect(gateway.state != .closed)
            _ = gateway.received(frame.encoded)
            #expect(gateway.state == .closed)
        default:
            #expect(gateway.state == .closed)
            #expect(first.contains { if case .close = $0 { true } else { false } })
        }
    }

    @Test(arguments: Samples.frames)
    func `R5: A frame that only the other side may send closes an open channel`(frame: Frame) {
        var gateway = Self.openGateway()
        var device = Self.openDevice()
        _ = gateway.received(frame.encoded)
        _ = device.received(frame.encoded)
        switch frame {
        case .topics, .acknowledge, .ping, .state, .register, .unregister:
            #expect(gateway.state == .open(Samples.device))
            #expect(device.state == .closed)
        case .message:
            #expect(gateway.state == .closed)
            #expect(device.state == .open)
        default:
            // A response without a request closes the connection as well.
            #expect(gateway.state == .closed)
            #expect(device.state == .closed)
        }
    }

    @Test func `R5: A push is acknowledged once, after it was written`() {
        var device = Self.openDevice()
        let frame = Frame.message(Samples.message(1)).encoded
        #expect(device.received(frame) == [.store(Samples.message(1))])
        #expect(device.received(frame) == [])
        #expect(device.stored(Samples.message(1).id) == [.send(.acknowledge(Samples.message(1).id))])
        #expect(device.stored(Samples.message(1).id) == [])
    }

    @Test func `R5: The channel expects one response to each keep-alive, and refuses other responses`() {
        var device = Self.openDevice()
        #expect(device.keepAliveDue(next: 300) == [.send(.ping(interval: 300))])
        #expect(device.keepAliveDue(next: 300) == [])
        #expect(device.received(Frame.pong.encoded) == [.keepAliveAnswered])
        _ = device.received(Frame.pong.encoded)
        #expect(device.state == .closed)
        var gateway = Self.openGateway()
        #expect(gateway.received(Frame.ping(interval: 300).encoded) == [.keepAlive])
        #expect(gateway.timeout == 480)
        #expect(gateway.answerKeepAlive() == [.send(.pong)])
        _ = gateway.received(Frame.ping(interval: .max).encoded)
        #expect(gateway.timeout == 3_600 * 3 / 2 + 30)
    }

    @Test func `R5: A peer that sends faster than it reads is disconnected`() {
        var gateway = Self.openGateway()
        for number in 0..<UInt32(GatewayChannel.requestLimit) {
            let actions = gateway.received(Frame.register(request: number, topic: "a", fresh: false).encoded)
            #expect(actions == [.register(request: number, topic: "a", fresh: false)])
        }
        _ = gateway.received(Frame.register(request: 99, topic: "a", fresh: false).encoded)
        #expect(gateway.state == .closed)
        var device = Self.openDevice()
        for number in 0..<UInt64(DeviceChannel.storingLimit) {
            #expect(device.received(Frame.message(Samples.message(number)).encoded).count == 1)
        }
        _ = device.received(Frame.message(Samples.message(9_999)).encoded)
        #expect(device.state == .closed)
    }

    @Test func `R5: An enrolled device may connect on the same connection or on a new one`() {
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        let enrol = Samples.frames[10]
        #expect(gateway.received(enrol.encoded).count == 1)
        #expect(gateway.enrolled(.success(Samples.device)) == [.send(.enrolled(Samples.device))])
        #expect(gateway.state == .greeting)
        var refused = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        _ = refused.received(enrol.encoded)
        _ = refused.enrolled(.failure(Refusal(.enrolmentCode, "used")))
        #expect(refused.state == .closed)
    }

    @Test func `R5: The keep-alive interval grows with success and falls below an interval that failed`() {
        var interval = KeepAliveInterval()
        for _ in 0..<20 { interval.answered(silence: interval.current) }
        #expect(interval.current == KeepAliveInterval.longest)
        // This network drops connections after 300 s of silence.
        interval.networkChanged()
        var lost = 0
        for _ in 0..<60 {
            if interval.current >= 300 {
                lost += 1
                interval.lost(silence: interval.current)
            } else {
                interval.answered(silence: interval.current)
            }
        }
        #expect((200..<300).contains(interval.current))
        #expect(lost < 6)
        // This network drops connections after a minute of silence.
        interval.networkChanged()
        for _ in 0..<10 {
            if interval.current >= 60 {
                interval.lost(silence: interval.current)
            } else {
                interval.answered(silence: interval.current)
            }
        }
        #expect((KeepAliveInterval.shortest..<60).contains(interval.current))
    }
}
