import Foundation
import NightshiftAPI
import PushProtocol
import Runtime
import SimulationSupport
import Store
import TestSupport
import Testing

@testable import Push

/// R3 R4 B6: The push service with a real store and the gateway's side of the protocol.
@Suite(.timeLimit(.minutes(20))) struct PushServiceTests {
    private typealias Scene = ServiceScene

    // MARK: - Enrolment and registration

    @Test func `R3: A device creates a key, enrols with that key, and authenticates with it`() async throws {
        let scene = try Scene()
        try await scene.start()
        let status = try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url))
        #expect(status.enrolment?.host == "gateway.example" && status.enrolment?.port == 2_196)
        #expect(status.connection == .off, "no app has registered")
        #expect(scene.gateway.state.read { $0.codes } == ["code"])
        let file = URL(filePath: scene.directory.path("push-\(ScriptedGateway.device).key"))
        let key = try PushKey.read(file)
        #expect(try scene.gateway.state.read { $0.keys } == [key.publicKey()])
        await #expect(throws: Problem.self) { try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url)) }

        let app = try await scene.service.register(Scene.app)
        #expect(app.token == "aa15" && app.error == nil && app.isRegistered)
        let proof = try #require(scene.gateway.state.read { $0.signatures.first })
        #expect(try proof.device == ScriptedGateway.device && proof.signature == key.sign(proof.bytes))
        try await scene.told.wait(for: "the app's word") { $0 == ["\(Scene.app) aa15"] }
        #expect(await scene.service.notice(for: Scene.app) == PushNotice(token: "aa15"))
        #expect(try await scene.connection() == .open)

        try await scene.service.leave()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(try await scene.connection() == .off)
        #expect(await scene.service.notice(for: Scene.app)?.error?.contains("push enrol") == true)
        await scene.end()
        #expect(scene.clock.sleepers == 0)
    }

    @Test func `R3: A failed enrolment is reported, and the service deletes its key and record`() async throws {
        let scene = try Scene()
        try await scene.start()
        scene.gateway.state.update { $0.refusal = Refusal(.enrolmentCode, "It was used.") }
        let refused = await #expect(throws: Problem.self) {
            try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url))
        }
        #expect(refused?.detail?.contains("enrolment create") == true)
        scene.gateway.state.update { $0.isThere = false }
        let missing = await #expect(throws: Problem.self) {
            try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url))
        }
        #expect(missing?.detail?.contains("gateway.example:2196") == true)
        for authority in ["relative.pem", "/there/is/none.pem"] {
            await #expect(throws: Problem.self) {
                try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url, authority: authority))
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory.path) == [])
        #expect(try await scene.service.status().enrolment == nil)
        await scene.end()
    }

    @Test func `R3: An older list of desktop entries does not replace a newer one`() async throws {
        let scene = try ServiceScene()
        scene.entries.install([])
        try await scene.start()
        let (service, entries, manifest) = (scene.service, scene.entries, StateScene.manifest(StateScene.app))
        // The app is installed while the service reads the desktop entries.
        entries.duringNextReading {
            entries.install([manifest])
            await service.receive(.installed(manifest), of: manifest.id)
        }
        _ = try await service.status(of: manifest.id)
        #expect(try await service.status(of: manifest.id).app == manifest.id)
        // The user has deleted the entry by hand, and a later read has found that already.
        entries.duringNextReading {
            entries.install([])
            _ = try? await service.status()
        }
        await #expect(throws: Problem.self) { try await service.status(of: manifest.id) }
        await scene.end()
    }

    @Test func `R4: The connection to the gateway is open exactly while an app is registered`() async throws {
        let scene = try await Scene.registered()
        _ = try await scene.service.register(StateScene.other)
        try await scene.gateway.state.wait(for: "both topics") { $0.topics.count == 2 }
        #expect(scene.gateway.state.read { $0.connections.filter(\.isOpen).count } == 1, "one for all")
        try await scene.service.unregister(Scene.app)
        #expect(try await scene.connection() == .open)
        try await scene.service.unregister(StateScene.other)
        try await scene.gateway.state.wait(for: "the end") { !$0.connections.contains(where: \.isOpen) }
        #expect(scene.gateway.state.read { $0.unregistered.count } == 2)
        #expect(try await scene.connection() == .off)
        #expect(scene.clock.sleepers == 0, "nothing is timed")
        await scene.end()
    }

    @Test func `R3: A registration returns before the gateway responds, and its token arrives later`() async throws {
        let scene = try Scene()
        try await scene.start()
        scene.gateway.state.update { $0.answersRegistrations = false }
        _ = try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url))
        async let registration = scene.service.register(Scene.app)
        try await scene.gateway.state.wait(for: "the request") { !$0.registered.isEmpty }
        try await eventually("somebody who waits") { scene.clock.sleepers == 2 }
        scene.clock.advance(to: scene.clock.now().bootSeconds + 10)
        let status = try await registration
        #expect(status.token == nil && status.isRegistered && status.sentence.contains("waiting for its token"))
        scene.gateway.state.update { $0.answersRegistrations = true }
        scene.gateway.cut()
        try await eventually("the next attempt") { try await scene.connection() == .waiting }
        try await scene.passToAlarm()
        try await scene.told.wait(for: "the token") { $0 == ["\(Scene.app) aa15"] }
        await scene.end()
    }

    // MARK: - Pushes

    @Test func `R3: The service acknowledges a push once the push and its wake are on disk`() async throws {
        let scene = try await Scene.registered()
        let message = scene.message(1)
        try await scene.deliver([message])
        let wakes = try await scene.wakes()
        #expect(wakes.map(\.app) == [Scene.app])
        let delivery = try JSON.decode(PushDelivery.self, from: try #require(wakes.first?.payload))
        #expect(delivery.payload == StateScene.silent && delivery.id == message.id.description)
        try await scene.endWake(.newData)
        try await scene.deliver([message])
        #expect(try await scene.wakes().isEmpty)
        let status = try await scene.service.status(of: Scene.app)
        #expect(status.pushes.map(\.state) == [.handled] && status.pushes.first?.result == .newData)
        let ends = try await scene.store.read { try $0.wakeEnds(of: [.push]) }
        #expect(ends.isEmpty)
        await scene.end()
    }

    @Test(arguments: [true, false])
    func `R4: The service discards no pushes before it trusts a clock that is forty days ahead`(isSetRight: Bool)
        async throws
    {
        let scene = try await Scene.registered()
        scene.clock.setWallClock(StateScene.start + 40 * 86_400)
        try await scene.deliver([scene.message(1)])
        let held = try await scene.service.status(of: Scene.app).pushes
        #expect(held.map(\.state) == [.waiting])
        #expect(try await scene.wakes().isEmpty)
        if isSetRight {
            scene.clock.setWallClock(StateScene.start + 60)
            try await eventually("the wake") { try await scene.wakes().count == 1 }
        } else {
            try await eventually("its end") {
                if let next = scene.clock.nextWaking { scene.clock.advance(to: next) }
                return try await scene.service.status(of: Scene.app).pushes.map(\.state) == [.discarded]
            }
            #expect(scene.clock.now().bootSeconds >= 1_000 + PushState.clockTimeout)
        }
        await scene.end()
    }

    @Test func `R4: A delayed step uses the trust in the clock at the time when the step runs`() async throws {
        let scene = try await Scene.registered()
        scene.clock.advance(to: 1_000 + PushState.clockTimeout)
        await scene.service.apply(DeviceState(conditions: DeviceConditions(), phase: .dozing))
        try await scene.deliver([scene.message(1)])
        #expect(try await scene.service.status(of: Scene.app).pushes.map(\.state) == [.waiting])
        let hold = try await StoreHold(scene.store)
        async let change = scene.service.register(StateScene.other, waits: false)
        try await passTime(.milliseconds(200), because: "Nothing reports that a change is being written.")
        async let step: Void = scene.service.receive(.launched, of: StateScene.other)
        try await passTime(.milliseconds(200), because: "Nothing reports that another change waits for its turn.")
        scene.clock.setWallClock(StateScene.start + 40 * 86_400)
        try await eventually("the clock") { await !scene.service.trustsClock }
        hold.release()
        _ = try await (change, step)
        #expect(try await scene.service.status(of: Scene.app).pushes.map(\.state) == [.waiting])
        await scene.end()
    }

    @Test func `R3: The service does not acknowledge a push that it cannot write`() async throws {
        let scene = try await Scene.registered()
        scene.gate.shut()
        scene.gateway.send(scene.message(1))
        try await scene.gateway.state.wait(for: "the end of the connection") {
            !$0.connections.contains(where: \.isOpen)
        }
        #expect(scene.gateway.state.read { $0.acknowledged.isEmpty })
        scene.gate.open()
        #expect(try await scene.wakes().isEmpty)
        try await eventually("the next attempt") { try await scene.connection() == .waiting }
        try await scene.passToAlarm()
        try await eventually("a connection") { try await scene.connection() == .open }
        try await scene.deliver([scene.message(1)])
        #expect(try await scene.wakes().count == 1)
        await scene.end()
    }

    private enum Asking: CaseIterable {
        case register, unregister, leave

        func ask(_ service: PushService) async throws(Problem) {
            switch self {
            case .register: _ = try await service.register(StateScene.other)
            case .unregister: try await service.unregister(StateScene.app)
            case .leave: try await service.leave()
            }
        }
    }

    @Test func `R3: A registration or unregistration that cannot be written has no effect`() async throws {
        let scene = try await Scene.registered()
        let before = try await scene.service.status()
        let told = scene.told.read { $0 }
        scene.gate.shut()
        for asking in Asking.allCases {
            let problem = await #expect(throws: Problem.self) { try await asking.ask(scene.service) }
            #expect(problem?.status == 503)
        }
        scene.gate.open()
        let after = try await scene.service.status()
        #expect(after.apps == before.apps && after.enrolment == before.enrolment && after.connection == .open)
        #expect(scene.told.read { $0 } == told)
        #expect(scene.gateway.state.read { $0.unregistered.isEmpty })
        // The device can still authenticate at the gateway.
        let enrolment = try #require(after.enrolment)
        #expect(FileManager.default.fileExists(atPath: scene.directory.path("push-\(enrolment.device).key")))
        await scene.end()
    }

    @Test func `R3: An enrolment that cannot be written has no effect, and leaves no key`() async throws {
        let scene = try Scene()
        try await scene.start()
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) {
            try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url, name: "test"))
        }
        #expect(problem?.status == 503 && problem?.detail?.contains("new code") == true)
        scene.gate.open()
        #expect(try await scene.service.status().enrolment == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory.path) == [])
        await scene.end()
    }

    @Test func `R3: An alert waits for its app across a restart of the service`() async throws {
        let scene = try await Scene.registered()
        try await scene.deliver([scene.message(1, StateScene.both)])
        func due(_ store: Store) async throws -> [Double?] {
            try await store.read { try $0.notifications([String: String].self) }.notifications.map(\.due)
        }
        #expect(try await due(scene.store) == [])
        await scene.end()
        let wakes = try await scene.wakes()
        try await scene.store.write { transaction in
            try transaction.finishWake(wakes[0], WakeEnd(result: .noData, time: StateScene.start + 3))
        }
        let next = try Scene(after: scene)
        try await next.start()
        #expect(try await due(next.store) == [StateScene.start])
        try await next.told.wait(for: "the part that shows it") { $0.contains("notifications") }
        let status = try await next.service.status(of: Scene.app)
        #expect(status.token == "aa15" && status.pushes.map(\.result) == [.noData])
        await next.end()
    }

    @Test func `R4: Many pushes arrive one after the other and in order`() async throws {
        let scene = try await Scene.registered()
        try await scene.deliver((1...200).map { scene.message($0, StateScene.alert) })
        let acknowledged = scene.gateway.state.read { $0.acknowledged }
        #expect(acknowledged == (1...200).map { PushID(high: 1, low: $0) })
        let status = try await scene.service.status(of: Scene.app)
        #expect(status.pushes.count == Limits.pushes && status.pushes.allSatisfy { $0.state == .notShown })
        try await scene.told.wait(for: "the part that shows them") { $0.contains("notifications") }
        await scene.end()
    }

    @Test func `R3: An app that unregisters early and registers again still gets a token`() async throws {
        let scene = try Scene()
        try await scene.start()
        _ = try await scene.service.enrol(PushEnrolmentRequest(url: Scene.url, name: "test"))
        // The connection stays open for the other app.
        _ = try await scene.service.register(StateScene.other)
        scene.gateway.state.update { $0.answersRegistrations = false }
        for count in 1...2 {
            _ = try await scene.service.register(Scene.app, waits: false)
            try await scene.gateway.state.wait(for: "question \(count)") { $0.registered.count == count + 1 }
            try await scene.service.unregister(Scene.app)
            try await scene.gateway.state.wait(for: "farewell \(count)") { $0.unregistered.count == count }
        }
        scene.gateway.state.update { $0.answersRegistrations = true }
        #expect(try await scene.service.register(Scene.app).token != nil)
        #expect(scene.gateway.state.read { $0.connections.count { $0.isOpen } } == 1)
        await scene.end()
    }

    // MARK: - The connection

    @Test func `R4: The service reconnects after a pause, and at once on another network`() async throws {
        let scene = try await Scene.registered()
        for isOther in [false, true] {
            let count = scene.gateway.state.read { $0.connections.count }
            scene.gateway.cut()
            try await eventually("a pause") { try await scene.connection() == .waiting }
            if isOther {
                var moment = DeviceState()
                moment.conditions.network.name = "train"
                await scene.service.apply(moment)
            } else {
                try await scene.passToAlarm()
            }
            try await eventually("a connection") { try await scene.connection() == .open }
            #expect(scene.gateway.state.read { $0.connections.count } == count + 1)
        }
        await scene.end()
    }

    @Test func `R4: The service reconnects after the pause that a stopping gateway has named`() async throws {
        let scene = try await Scene.registered()
        scene.gateway.goAway(Refusal(.shutdown, "Maintenance."), retryAfter: 400)
        try await eventually("a pause") { try await scene.connection() == .waiting }
        let status = try await scene.service.status()
        #expect(status.sentence.contains("Maintenance."))
        #expect(status.next == Date(timeIntervalSince1970: StateScene.start + 500))
        await scene.end()
    }

    @Test func `R4: The service opens a new connection if a keep-alive after a silence gets no answer`()
        async throws
    {
        let scene = try await Scene.registered()
        try await eventually("an alarm") { scene.clock.sleepers == 1 }
        try await scene.passToAlarm()
        try await scene.gateway.state.wait(for: "a keep-alive") { $0.pings == 1 }
        try await eventually("a longer interval") { try await scene.service.status().keepAlive == 360 }
        scene.gateway.state.update { $0.answersPings = false }
        try await scene.passToAlarm()
        try await scene.gateway.state.wait(for: "another one") { $0.pings == 2 }
        try await eventually("a bound for the answer") {
            scene.clock.nextWaking == scene.clock.now().bootSeconds + ConnectionPlan.answerTimeout
        }
        let count = scene.gateway.state.read { $0.connections.count }
        try await scene.passToAlarm()
        try await scene.gateway.state.wait(for: "a new connection") { $0.connections.count == count + 1 }
        await scene.end()
    }

    @Test func `R4: The gateway gets the device state, and a keep-alive when the machine wakes`() async throws {
        let scene = try await Scene.registered()
        var moment = DeviceState()
        moment.conditions.isIdle = true
        await scene.service.apply(moment)
        await scene.service.apply(DeviceState(conditions: moment.conditions, phase: .dozing))
        try await scene.gateway.state.wait(for: "its states") { $0.states.suffix(2) == [.idle, .dozing] }
        moment.conditions.isSleeping = true
        await scene.service.apply(moment)
        moment.conditions.isSleeping = false
        await scene.service.apply(moment)
        try await scene.gateway.state.wait(for: "a keep-alive") { $0.pings == 1 }
        await scene.end()
    }

    @Test func `R4: The status of a device names the gateway's refusal, and the device retries slowly`() async throws {
        let scene = try await Scene.registered()
        scene.gateway.state.update { $0.refusal = Refusal(.notAuthenticated, "It was revoked.") }
        scene.gateway.cut()
        try await eventually("a pause") { try await scene.connection() == .waiting }
        try await scene.passToAlarm()
        try await eventually("its words") { try await scene.service.status().sentence.contains("revoked") }
        let next = try #require(try await scene.service.status().next)
        #expect(next.timeIntervalSince1970 > scene.clock.now().wallSeconds + 600)
        await scene.end()
    }
}
