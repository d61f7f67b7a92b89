import PushProtocol
import Testing

/// Tests of both ends of a connection that splits the bytes at any point, with events in any order.
@Suite struct ChannelWalkTests {
    struct World {
        var random: Seeded
        var device = DeviceChannel(.connect(Samples.device))
        var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
        var toDevice: [UInt8] = []
        var toGateway: [UInt8] = []
        var isVerifying = false
        var isSigning = false
        var unanswered: [UInt32] = []
        var sent: [PushID] = []
        var writing: [PushID] = []
        var written: [PushID] = []
        var acknowledged: [PushID] = []
        var pings = 0
        var pongs = 0
        var tokens = 0
        var closes: [Refusal] = []

        init(seed: UInt64) {
            random = Seeded(seed)
            device.opened()
            apply(gateway.start())
        }

        mutating func apply(_ actions: [GatewayChannel.Action]) {
            for action in actions {
                switch action {
                case .send(let frame): toDevice += frame.encoded
                case .verify: isVerifying = true
                case .register(let request, _, _), .unregister(let request, _): unanswered.append(request)
                case .acknowledged(let push): acknowledged.append(push)
                case .keepAlive: apply(gateway.answerKeepAlive())
                case .close(let refusal): closes.append(refusal)
                case .opened, .topics, .state, .enrol: break
                }
            }
        }

        mutating func apply(_ actions: [DeviceChannel.Action]) {
            for action in actions {
                switch action {
                case .send(let frame):
                    toGateway += frame.encoded
                    if case .ping = frame { pings += 1 }
                case .sign: isSigning = true
                case .store(let message): writing.append(message.id)
                case .keepAliveAnswered: pongs += 1
                case .registered, .unregistered, .refused: tokens += 1
                case .close(let refusal, _): closes.append(refusal)
                case .connected, .enrolled: break
                }
            }
        }

        /// Performs one random step: it moves some bytes, answers a request, or starts the next push.
        ///
        /// - Parameter number: the number of the next push, or nil to start no new push.
        mutating func step(_ number: UInt64?) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1, 2:
                let count = Int.random(in: 1...200, using: &random)
                let bytes = Array(toDevice.prefix(count))
                toDevice.removeFirst(bytes.count)
                apply(device.received(bytes))
            case 3, 4, 5:
                let count = Int.random(in: 1...200, using: &random)
                let bytes = Array(toGateway.prefix(count))
                toGateway.removeFirst(bytes.count)
                apply(gateway.received(bytes))
            case 6:
                if isVerifying {
                    isVerifying = false
                    apply(gateway.verified(nil))
                } else if let request = unanswered.popLast() {
                    apply(gateway.answer(.registered(request: request, topic: "a", token: "t\(request)")))
                }
            case 7:
                if isSigning {
                    isSigning = false
                    apply(device.signed(Samples.signature))
                } else if let push = writing.popLast() {
                    written.append(push)
                    apply(device.stored(push))
                }
            case 8:
                guard let number, sent.count - acknowledged.count < 64 else { return }
                let actions = gateway.deliver(Samples.message(number))
                if !actions.isEmpty { sent.append(Samples.message(number).id) }
                apply(actions)
            default:
                guard number != nil else { return }
                switch Int.random(in: 0..<4, using: &random) {
                case 0: apply(device.keepAliveDue(next: 60))
                case 1 where unanswered.count < 8: apply(device.register("a", fresh: false))
                case 2: apply(device.change(state: .dozing))
                default: apply(device.change(topics: Samples.connect.topics))
                }
            }
        }

        mutating func drain() {
            for _ in 0..<100_000 {
                if toDevice.isEmpty && toGateway.isEmpty && writing.isEmpty && unanswered.isEmpty && !isSigning
                    && !isVerifying
                {
                    return
                }
                step(nil)
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `R5: Both peers accept all frames, and acknowledge each push once, in any order of events`(seed: UInt64) {
        var world = World(seed: seed)
        for number in 0..<1_000 as Range<UInt64> { world.step(number) }
        world.drain()
        #expect(world.closes == [], "seed \(seed)")
        #expect(world.gateway.state == .open(Samples.device))
        #expect(world.device.state == .open)
        #expect(world.sent.count > 20)
        #expect(Set(world.written) == Set(world.sent))
        #expect(Set(world.acknowledged) == Set(world.sent))
        #expect(world.acknowledged.count == world.written.count)
        #expect(world.pings == world.pongs)
    }

    /// A test in which a hostile device sends valid and invalid frames in any order. The gateway never accepts the
    /// device.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `R5: The gateway does not act on any frame that comes before a valid signature`(seed: UInt64) {
        var random = Seeded(seed)
        for _ in 0..<200 {
            var gateway = GatewayChannel(nonce: Samples.nonce, keepAlive: 600)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                var bytes = Samples.frames.randomElement(using: &random)?.encoded ?? []
                if Bool.random(using: &random), !bytes.isEmpty {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                for action in gateway.received(bytes) {
                    switch action {
                    case .send(.goAway), .close: #expect(gateway.state == .closed)
                    case .verify: _ = gateway.verified(Refusal(.notAuthenticated, ""))
                    case .enrol: _ = gateway.enrolled(.failure(Refusal(.enrolmentCode, "")))
                    default: #expect(Bool(false), "seed \(seed): \(action)")
                    }
                }
            }
        }
    }
}
