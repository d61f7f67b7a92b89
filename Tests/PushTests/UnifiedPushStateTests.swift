import Device
import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Runtime
import Testing

/// B7: The decisions of UnifiedPush.
@Suite struct UnifiedPushStateTests {
    @Test func `B7: An app gets its response and endpoint when the gateway has issued a token`() {
        var scene = UnifiedPushScene()
        let call = scene.register()
        #expect(scene.answers[call] == nil && scene.calls.isEmpty && scene.book.wanted.count == 1)
        #expect(scene.watched == [UnifiedPushScene.service])
        scene.give("abc")
        #expect(scene.answers[call] == .registered)
        #expect(scene.calls.map(\.call.content) == [.endpoint("https://push.example/up/abc")])
        #expect(scene.calls.first?.call.token == "secret" && scene.calls.first?.call.version == .two)
        scene.answer(.returned)
        #expect(scene.registrations.values.map(\.isAnnounced) == [true])
        scene.pass(100_000)
        #expect(scene.calls.isEmpty && scene.book.nextDeadline == nil)
    }

    @Test func `B7: An app that registers again gets the same endpoint again`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let topic = scene.topic()
        let call = scene.register(version: .one)
        #expect(scene.answers[call] == .registered && scene.topic() == topic)
        #expect(scene.calls.map(\.call.content) == [.endpoint("https://push.example/up/token-of-secret")])
        #expect(scene.calls.map(\.call.version) == [.one], "as it asked last")
        // A registration during the call causes another call.
        scene.register()
        scene.answer(.returned)
        #expect(scene.calls.count == 1)
    }

    @Test func `B7: The service refuses an invalid registration with a reason`() {
        var scene = UnifiedPushScene()
        scene.registered()
        for (service, token) in [
            ("nodots", "t"), (":1.5", "t"), ("org.1x", "t"), ("org..x", "t"), ("org.ex'ample", "t"),
            ("org.example", ""),
            ("org.example", String(repeating: "t", count: 101)), ("org.example.Other", "secret"),
        ] {
            let call = scene.register(token, service: service)
            guard case .failed(.internalError, _)? = scene.answers[call] else {
                #expect(Bool(false), "\(service) \(token)")
                continue
            }
        }
        #expect(scene.book.registrations.count == 1)
        scene.book.enrolled(false, now: scene.now)
        let call = scene.register("t2")
        guard case .failed(.actionRequired, let sentence)? = scene.answers[call] else {
            return #expect(Bool(false), "registered without a gateway")
        }
        #expect(sentence.contains("nightshift push enrol"))
    }

    @Test
    func `B7: A registration fails if the gateway refuses a token, or issues no token in time`() {
        var scene = UnifiedPushScene()
        let late = scene.register("late")
        scene.passToLook()
        #expect(scene.answers[late] == .failed(.network, "The push gateway could not be reached in time."))
        let left = scene.book.takeLeft()
        #expect(scene.registrations.isEmpty && left.count == 1)
        let refused = scene.register("refused")
        scene.book.refused(scene.topic("refused"), Refusal(.tooMuch, "Enough."), now: scene.now)
        scene.look()
        #expect(scene.answers[refused] == .failed(.internalError, "The gateway refused a token: Enough."))
        scene.book.connected(endpoints: nil, now: scene.now)
        let old = scene.register("old")
        scene.book.connected(endpoints: nil, now: scene.now)
        scene.look()
        guard case .failed(.internalError, _)? = scene.answers[old] else {
            return #expect(Bool(false), "a gateway without endpoints")
        }
        #expect(scene.registrations.isEmpty)
    }

    @Test func `B7: An app receives its messages one by one, in order and unchanged`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let ids = (0..<3).map { scene.receive([$0, 0xFF, 0]) }
        #expect(scene.calls.map(\.call.content) == [.message([0, 0xFF, 0], id: ids[0])])
        for _ in 0..<3 { scene.answer(.returned) }
        #expect(scene.takenBytes == [[0, 0xFF, 0], [1, 0xFF, 0], [2, 0xFF, 0]])
        #expect(ids.allSatisfy { scene.state($0) == .delivered && scene.payloads[$0] == nil })
        // A repeated message has no effect.
        scene.book.received(scene.message(1, [9], topic: scene.topic()), now: scene.now)
        scene.look()
        #expect(scene.calls.isEmpty)
    }

    @Test func `B7: A message waits for an absent app, and is delivered when the app appears`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let id = scene.receive()
        var pauses: [Double] = []
        for _ in 0..<14 {
            scene.answer(.absent("the answer was the error ServiceUnknown"))
            #expect(scene.calls.isEmpty)
            let before = scene.now
            scene.passToLook()
            pauses.append(scene.now - before)
        }
        #expect(pauses.prefix(4) == [1, 2, 4, 8] && pauses.last == UnifiedPushState.longestPause)
        scene.answer(.absent("the answer was the error ServiceUnknown"))
        scene.book.appeared("org.example.Somebody")
        scene.look()
        #expect(scene.calls.isEmpty)
        scene.book.appeared(UnifiedPushScene.service)
        scene.look()
        scene.answer(.returned)
        #expect(scene.state(id) == .delivered)
    }

    @Test
    func
        `B7: A message goes when it expires, when its app refuses it again and again, and at once where it may not wait`()
    {
        var scene = UnifiedPushScene()
        scene.registered()
        let short = scene.receive(expires: 30)
        scene.answer(.absent("there was no answer"))
        scene.pass(31)
        let sentence = scene.messages[short]?.sentence ?? ""
        #expect(
            scene.state(short) == .discarded && sentence.contains("The app cannot be reached: there was no answer."))
        let once = scene.receive(expires: nil)
        scene.answer(.absent("there was no answer"))
        #expect(scene.state(once) == .discarded)
        let unwanted = scene.receive()
        for _ in 0..<UnifiedPushState.refusals {
            #expect(scene.state(unwanted) == .waiting)
            scene.answer(.refused("the answer was the error org.example.No"))
            scene.passToLook()
        }
        #expect(scene.state(unwanted) == .discarded)
        let gone = scene.receive(expires: 0)
        #expect(scene.state(gone) == .discarded && scene.calls.isEmpty)
    }

    @Test func `B7: A message that an untrusted clock shows as expired waits, and blocks no others`() {
        var scene = UnifiedPushScene()
        scene.registered()
        scene.book.trustsClock = false
        let doubtful = scene.receive(expires: 0)
        #expect(scene.state(doubtful) == .waiting && scene.calls.isEmpty)
        #expect(scene.book.isInDoubt(scene.now) && scene.book.nextDeadline == nil)
        let fresh = scene.receive()
        scene.answer(.returned)
        #expect(scene.state(fresh) == .delivered && scene.state(doubtful) == .waiting)
        scene.book.trustsClock = true
        scene.pass(1)
        #expect(scene.state(doubtful) == .discarded)
    }

    @Test func `B7: A message replaces a waiting message of the same topic`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let first = scene.receive([1], name: "n")
        let second = scene.receive([2], name: "n")
        let third = scene.receive([3], name: "n")
        #expect(scene.state(first) == .waiting, "it is on its way")
        #expect(scene.state(second) == .discarded && scene.state(third) == .waiting)
        scene.answer(.absent("there was no answer"))
        let many = (0..<UnifiedPushState.count).map { _ in scene.receive() }
        #expect(scene.state(first) == .discarded && many.allSatisfy { scene.state($0) == .waiting })
        let large = scene.receive([UInt8](repeating: 0, count: 4_096))
        for _ in 0..<99 { scene.receive([UInt8](repeating: 0, count: 4_096)) }
        #expect(scene.state(large) == .waiting && many.allSatisfy { scene.state($0) == .discarded })
        scene.receive([UInt8](repeating: 0, count: 4_096))
        #expect(scene.state(large) == .discarded)
    }

    @Test func `B7: The end of a registration deletes its messages, and the app is notified`() {
        var scene = UnifiedPushScene()
        scene.registered()
        scene.registered("other")
        let topic = scene.topic()
        let id = scene.receive()
        scene.book.unregister(token: "secret", call: 77, now: scene.now)
        scene.look()
        let left = scene.book.takeLeft()
        #expect(scene.answers[77] == .unregistered && left == [topic])
        #expect(scene.calls.last?.call.content == .unregistered(isConfirmation: true))
        #expect(scene.registrations.values.map(\.token) == ["other"] && scene.messages[id] == nil)
        scene.book.unregister(token: "nobody", call: 78, now: scene.now)
        scene.look()
        #expect(scene.answers[78] == .unregistered)
        let hadAny = scene.book.unregister(AppID(rawValue: UnifiedPushScene.service), now: scene.now)
        #expect(hadAny)
        scene.look()
        #expect(scene.calls.last?.call.content == .unregistered(isConfirmation: false) && scene.registrations.isEmpty)
        // A later message for the registration is ignored.
        scene.book.received(scene.message(5, [1], topic: topic), now: scene.now)
        scene.look()
        #expect(scene.messages.isEmpty)
    }

    @Test func `B7: A restarted service keeps registrations and messages, and repeats open calls`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let id = scene.receive([7])
        scene.register("unanswered", service: "org.example.Other")
        scene.restart()
        #expect(scene.book.registrations.values.map(\.token) == ["secret"], "the other's app heard nothing of it")
        #expect(scene.calls.map(\.call.content) == [.message([7], id: id)])
        scene.answer(.returned)
        scene.restart()
        #expect(scene.calls.isEmpty)
        // The gateway sends the message again, because it has received no acknowledgement.
        scene.book.received(scene.message(1, [7], topic: scene.topic()), now: scene.now)
        scene.look()
        #expect(scene.calls.isEmpty)
    }

    @Test func `B7: Apps get new endpoints after enrolment at another gateway`() {
        var scene = UnifiedPushScene()
        scene.registered()
        scene.book.connected(endpoints: "https://moved.example", now: scene.now)
        scene.look()
        #expect(scene.calls.map(\.call.content) == [.endpoint("https://moved.example/up/token-of-secret")])
        scene.answer(.returned)
        scene.book.enrolled(false, now: scene.now)
        scene.book.enrolled(true, now: scene.now)
        scene.look()
        let left = scene.book.takeLeft()
        #expect(scene.book.wanted == [scene.topic()] && scene.calls.isEmpty && left.isEmpty)
        scene.give("new")
        #expect(scene.calls.isEmpty, "the base is not known yet")
        scene.book.connected(endpoints: "https://new.example", now: scene.now)
        scene.look()
        #expect(scene.calls.map(\.call.content) == [.endpoint("https://new.example/up/new")])
    }

    @Test func `B7: The service announces an endpoint to an absent app a limited number of times`() {
        var scene = UnifiedPushScene()
        scene.register()
        scene.give()
        for _ in 0..<UnifiedPushState.announcements {
            scene.answer(.absent("there was no answer"))
            scene.passToLook()
        }
        #expect(scene.calls.isEmpty && scene.book.nextDeadline == nil)
        scene.book.appeared(UnifiedPushScene.service)
        scene.look()
        #expect(scene.calls.count == 1)
    }

    @Test func `B7: The service keeps all messages when it loses the bus`() {
        var scene = UnifiedPushScene()
        scene.registered()
        scene.receive([1])
        scene.calls = []
        scene.book.lostBus()
        scene.receive([2])
        #expect(scene.calls.isEmpty)
        scene.book.connectedToBus()
        scene.look()
        #expect(scene.watched == [UnifiedPushScene.service])
        scene.answer(.returned)
        scene.answer(.returned)
        #expect(scene.takenBytes == [[1], [2]])
    }

    @Test func `B7: The service neither acknowledges nor delivers a message that it could not write`() {
        var scene = UnifiedPushScene()
        scene.registered()
        let message = scene.message(50, [5], topic: scene.topic())
        scene.book.received(message, now: scene.now)
        scene.book.decide(at: scene.now)
        #expect(scene.calls.isEmpty && scene.messages.isEmpty)
        // The gateway sends it again, and the disk works.
        scene.book.received(message, now: scene.now)
        scene.look()
        #expect(scene.calls.map(\.call.content) == [.message([5], id: message.id.description)])
        scene.look()
        #expect(scene.calls.count == 1 && scene.messages.count == 1)
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `B7: Each app receives each message once and in order after any failures`(seed: UInt64) {
        var random = SeededNumbers(state: seed)
        var scene = UnifiedPushScene()
        scene.registered()
        scene.registered("second")
        var sent: [[UInt8]] = []
        for step in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                guard sent.count < 80 else { break }
                let bytes = [UInt8(sent.count)]
                sent.append(bytes)
                scene.receive(bytes, token: step % 2 == 0 ? "secret" : "second", expires: 1_000_000)
            case 3...5: scene.answer(.returned)
            case 6: scene.answer(.absent("there was no answer"))
            case 7: scene.pass(Double.random(in: 0...20, using: &random))
            case 8:
                scene.book.appeared(UnifiedPushScene.service)
                scene.look()
            default: if Int.random(in: 0..<4, using: &random) == 0 { scene.restart() }
            }
        }
        for _ in 0..<1_000 {
            scene.answer(.returned)
            if scene.calls.isEmpty { scene.passToLook() }
        }
        // A restart during a call may repeat a message, but never loses a message or changes their order.
        var first: [[UInt8]] = []
        for bytes in scene.takenBytes where !first.contains(bytes) { first.append(bytes) }
        #expect(Set(first) == Set(sent))
        #expect(scene.messages.values.allSatisfy { $0.state == .delivered })
        for token in ["secret", "second"] {
            let topic = scene.topic(token)
            let own = scene.messages.values.filter { $0.topic == topic }.sorted { $0.number < $1.number }.map(\.id)
            var heard: [String] = []
            for case .message(_, let id) in scene.taken where own.contains(id) && !heard.contains(id) {
                heard.append(id)
            }
            #expect(heard == own)
        }
    }
}

/// The SplitMix64 generator of random numbers.
private struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
