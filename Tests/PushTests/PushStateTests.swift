import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Runtime
import Testing

/// R3 R4: The handling of pushes on the device.
@Suite struct PushStateTests {
    // MARK: - Kinds of pushes

    @Test func `R3: A silent push wakes its app and is never shown`() throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message())
        #expect(scene.state(id) == .running && scene.record(id)?.isSilent == true)
        let wake = try #require(scene.wakes[StateScene.app])
        #expect(wake.wake.delivery.payload == StateScene.silent && wake.wake.delivery.id == id)
        #expect(wake.wake.timeout == 86_400)
        scene.endWake(StateScene.app, .noData)
        #expect(scene.state(id) == .handled && scene.record(id)?.result == .noData)
        #expect(scene.due == [] && scene.held == [] && scene.ends.isEmpty && scene.payloads[id] == nil)
        #expect(scene.entries.map(\.decision).suffix(2) == [.pushReceived, .pushHandled])
    }

    @Test func `R3: A push with only an alert is shown at once and does not wake its app`() throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message(StateScene.alert, collapse: "c"))
        #expect(scene.due == ["c"] && scene.wakes.isEmpty && scene.state(id) == .notShown)
        #expect(scene.record(id)?.shown == nil, "nobody has said that it is on a screen")
        scene.book.alert("c", of: StateScene.app, became: .shown, at: Date(timeIntervalSince1970: 5))
        scene.look()
        #expect(scene.record(id)?.shown == Date(timeIntervalSince1970: 5) && scene.state(id) == .shown)
    }

    @Test(arguments: [RefreshResult.newData, .noData, .failed])
    func `R3: An alert with content-available is shown when its app has handled the push`(_ result: RefreshResult)
        throws
    {
        var scene = try StateScene()
        let id = scene.receive(scene.message(StateScene.both))
        #expect(scene.held == [id] && scene.due == [] && scene.state(id) == .running)
        scene.pass(29)
        #expect(scene.due == [])
        scene.endWake(StateScene.app, result)
        #expect(scene.due == [id] && scene.held == [] && scene.state(id) == .handled)
        scene.pass(100)
        #expect(scene.due == [id], "once")
    }

    @Test func `R3: An alert waits for its app at most as long as a wake may take`() throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message(StateScene.both))
        let next = try #require(scene.book.nextDeadline)
        #expect(next == StateScene.start + 50)
        scene.pass(next - scene.now)
        #expect(scene.due == [id] && scene.state(id) == .running)
        scene.endWake()
        #expect(scene.due == [id] && scene.state(id) == .handled)
    }

    @Test func `R3: An alert does not wait longer if the clock is set back`() throws {
        var scene = try StateScene()
        scene.receive(scene.message(StateScene.both))
        scene.now -= 86_400
        scene.look()
        #expect(scene.due.count == 1)
    }

    @Test(arguments: ["[]", "7", #"{"aps":1}"#, #"{"aps":{}}"#, "{", ""])
    func `R3: An empty push is discarded with a reason`(_ payload: String) throws {
        var scene = try StateScene()
        let id = scene.receive(scene.message(payload))
        #expect(scene.state(id) == .discarded && !scene.sentence(id).isEmpty)
        #expect(scene.wakes.isEmpty && scene.due == [])
    }

    // MARK: - Blocked wakes

    static let refusals: [(String, @Sendable (inout StateScene) -> Void)] = [
        (
            "'remote-notification'",
            { $0.book.installed(StateScene.app, StateScene.manifest(StateScene.app, []), now: $0.now) }
        ),
        ("You force-quit the app", { $0.book.forceQuit(StateScene.app) }),
        ("background refresh off", { $0.book.set(RefreshAvailability.denied, of: StateScene.app) }),
        ("entry is gone", { $0.book.read([]) }),
    ]

    @Test(arguments: refusals.indices)
    func `R3: A silent push to an app that may not be woken is discarded, but an alert is shown`(_ index: Int) throws {
        let (words, change) = Self.refusals[index]
        var scene = try StateScene()
        change(&scene)
        let silent = scene.receive(scene.message())
        #expect(scene.state(silent) == .discarded && scene.sentence(silent).contains(words))
        let both = scene.receive(scene.message(StateScene.both))
        #expect(scene.state(both) == .notShown && scene.due == [both] && scene.sentence(both).contains(words))
        #expect(scene.wakes.isEmpty)
        let status = scene.book.status(of: StateScene.app, now: scene.now)
        #expect(words == "entry is gone" ? status == nil : status?.sentence.contains(words) == true)
    }

    struct Hold: Sendable {
        var words: String
        var phase = DozePhase.awake
        var change: @Sendable (inout DeviceConditions) -> Void = { _ in }
    }

    static let holds = [
        Hold(words: "dozes", phase: .dozing),
        Hold(words: "Low-power mode", change: { $0.isLowPower = true }),
        Hold(words: "almost empty", change: { ($0.power, $0.batteryWarning) = (.battery, .critical) }),
        Hold(words: "machine is asleep", change: { $0.isSleeping = true }),
    ]

    @Test(arguments: holds.indices)
    func `R4: A push waits for device conditions with a reason, but its alert is shown at once`(_ index: Int) throws {
        let hold = Self.holds[index]
        var scene = try StateScene()
        scene.device(hold.phase, hold.change)
        let id = scene.receive(scene.message(StateScene.both))
        #expect(scene.state(id) == .waiting && scene.sentence(id).contains(hold.words))
        #expect(scene.due == [id] && scene.wakes.isEmpty)
        #expect(scene.book.status(of: StateScene.app, now: scene.now)?.waiting?.id == id)
        #expect(scene.entries.last?.decision == .pushHeld)
        scene.restart()
        #expect(scene.state(id) == .waiting)
        scene.device(.window)
        #expect(scene.state(id) == .running && scene.wakes[StateScene.app]?.id == id)
        scene.endWake()
        #expect(scene.due == [id], "shown once")
    }

    @Test(arguments: holds.indices)
    func `R4: A start of the app delivers waiting pushes under any device conditions`(_ index: Int) throws {
        let hold = Self.holds[index]
        var scene = try StateScene()
        scene.device(hold.phase, hold.change)
        let id = scene.receive(scene.message())
        scene.book.launched(StateScene.app)
        scene.look()
        #expect(scene.wakes[StateScene.app]?.id == id)
        let more = scene.receive(scene.message())
        #expect(scene.state(more) == .running, "an app in the foreground gets it at once")
    }

    @Test func `R4: In doze a push of priority 10 wakes its app`() throws {
        var scene = try StateScene()
        scene.device(.dozing) { $0.power = .battery }
        let id = scene.receive(scene.message(StateScene.both, priority: .immediate))
        #expect(scene.state(id) == .running && scene.held == [id])
    }

    @Test func `R4: Only the newest silent push of an app waits`() throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let first = scene.receive(scene.message())
        let others = scene.receive(scene.message(for: StateScene.other))
        let second = scene.receive(scene.message())
        #expect(scene.state(first) == .discarded && scene.sentence(first).contains("newer"))
        #expect(scene.state(second) == .waiting && scene.state(others) == .waiting)
        scene.device(.window)
        #expect(scene.wakes[StateScene.app]?.id == second && scene.wakes[StateScene.other]?.id == others)
    }

    @Test func `R4: A silent push replaces only an earlier silent push that waits for the same app`() throws {
        var scene = try StateScene()
        let first = scene.receive(scene.message())
        let both = scene.receive(scene.message(StateScene.both))
        let second = scene.receive(scene.message())
        #expect(scene.rows.map(\.id) == [both, second])
        scene.endWake()
        scene.endWake()
        #expect(scene.state(first) == .discarded && scene.state(second) == .handled)
        #expect(scene.state(both) == .handled && scene.due == [both])
    }

    @Test func `R3: A working app receives every push with an alert, also after a restart`() throws {
        var scene = try StateScene()
        var ids: [String] = []
        for _ in 0..<4 { ids.append(scene.receive(scene.message(StateScene.both))) }
        #expect(scene.rows.map(\.id) == ids && Set(scene.rows.map(\.wake.key)).count == 4)
        // The last wake is finished first.
        scene.addEnd(StateScene.app, scene.rows[3].number, .noData)
        scene.takeEnds()
        #expect(scene.due == [ids[3]] && ids.prefix(3).allSatisfy { scene.state($0) == .running })
        scene.restart()
        for _ in 0..<3 { scene.endWake() }
        #expect(ids.allSatisfy { scene.state($0) == .handled } && Set(scene.due) == Set(ids) && scene.held == [])
    }

    @Test func `R4: Pushes with an alert and the latest silent push wait together in doze`() throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let silent = scene.receive(scene.message())
        let first = scene.receive(scene.message(StateScene.both))
        let second = scene.receive(scene.message(StateScene.both))
        let last = scene.receive(scene.message())
        #expect(scene.state(silent) == .discarded && scene.sentence(silent).contains("newer silent push"))
        #expect([first, second, last].allSatisfy { scene.state($0) == .waiting } && scene.due == [first, second])
        scene.device(.window)
        #expect(scene.rows.map(\.id) == [first, second, last])
        let payloads = scene.rows.map(\.wake.delivery.payload)
        #expect(payloads == [StateScene.both, StateScene.both, StateScene.silent])
    }

    @Test func `R3: An app gets a limited number of pushes at a time, and more when some are handled`() throws {
        var scene = try StateScene()
        for _ in 0..<PushState.mostRunning { scene.receive(scene.message(StateScene.both)) }
        let next = scene.receive(scene.message(StateScene.both))
        #expect(scene.state(next) == .waiting && scene.sentence(next).contains("is handling") && scene.due == [next])
        let others = scene.receive(scene.message(StateScene.both, for: StateScene.other))
        let silent = scene.receive(scene.message())
        #expect(scene.state(others) == .running && scene.state(silent) == .running)
        for _ in 0..<PushState.mostWaiting { scene.receive(scene.message(StateScene.both)) }
        #expect(scene.state(next) == .discarded && scene.sentence(next).contains("newer pushes were waiting"))
        #expect(scene.pushes.values.count { $0.record.state == .waiting } == PushState.mostWaiting)
        scene.endWake()
        #expect(scene.pushes.values.count { $0.record.state == .waiting } == PushState.mostWaiting - 1)
        #expect(scene.rows.count == PushState.mostRunning + 2)
    }

    @Test func `R4: A push that the app is handling ends separately from a newer push`() throws {
        var scene = try StateScene()
        let first = scene.receive(scene.message(StateScene.both))
        let begun = try #require(scene.wakes[StateScene.app]).number
        let second = scene.receive(scene.message())
        scene.addEnd(StateScene.app, begun, .noData)
        scene.takeEnds()
        #expect(scene.state(first) == .handled && scene.state(second) == .running && scene.due == [first])
        scene.endWake()
        #expect(scene.state(second) == .handled)
    }

    @Test func `R4: A force quit discards waiting pushes`() throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let id = scene.receive(scene.message())
        scene.book.forceQuit(StateScene.app)
        scene.look()
        #expect(scene.state(id) == .discarded)
        scene.restart()
        scene.device(.window)
        let received1 = scene.receive(scene.message())
        #expect(scene.state(received1) == .discarded, "also of a service that has begun since")
        scene.book.launched(StateScene.app)
        scene.book.use(StateScene.app, isInFront: false)
        let received2 = scene.receive(scene.message())
        #expect(scene.state(received2) == .running)
        scene.book.forceQuit(StateScene.app)
        scene.endWake(StateScene.app, .failed, "You have force-quit the app.")
        #expect(scene.pushes.values.filter { $0.record.state == .discarded }.count == 3)
    }

    // MARK: - Budget and expiration

    @Test func `R4: Silent pushes have a budget on battery, and continue when the budget has grown`() throws {
        var scene = try StateScene()
        scene.device { $0.power = .battery }
        for _ in 0..<12 {
            let received3 = scene.receive(scene.message())
            #expect(scene.state(received3) == .running)
            scene.endWake()
        }
        let alert = scene.receive(scene.message(StateScene.both, for: StateScene.other))
        #expect(scene.state(alert) == .running, "an alert is no matter of the budget")
        let id = scene.receive(scene.message())
        #expect(scene.state(id) == .waiting && scene.sentence(id).contains("next one is possible at"))
        scene.restart()
        #expect(scene.state(id) == .waiting)
        let next = try #require(scene.book.nextDeadline.map { max($0, StateScene.start + 300) })
        scene.pass(next - scene.now)
        #expect(scene.state(id) == .running)
        let another = scene.receive(scene.message(for: StateScene.other))
        #expect(scene.state(another) == .waiting)
        scene.device()
        #expect(scene.state(another) == .running, "with power there is no budget")
    }

    @Test func `R4: A waiting push expires, and a push without an expiration date does not wait`() throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let once = scene.receive(scene.message(expires: nil))
        #expect(scene.state(once) == .discarded && scene.sentence(once).contains("no expiration date"))
        let id = scene.receive(scene.message(expires: 600))
        #expect(scene.book.nextDeadline == scene.now + 600)
        scene.pass(600)
        #expect(scene.state(id) == .discarded && scene.sentence(id).contains("expired"))
        let late = scene.receive(scene.message(StateScene.alert, expires: -1))
        #expect(scene.state(late) == .discarded && scene.due == [])
    }

    @Test(arguments: [true, false])
    func `R4: A push waits if only an untrusted clock shows it as expired`(isWrong: Bool) throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let waiting = scene.receive(scene.message(expires: 86_400))
        let later = scene.message(for: StateScene.other, expires: 86_400)
        // The service starts with a clock that is forty days ahead.
        scene.book.trustsClock = false
        scene.now += 40 * 86_400
        scene.device()
        #expect(scene.state(waiting) == .waiting && scene.sentence(waiting).contains("may be wrong"))
        #expect(scene.book.isInDoubt(scene.now) && scene.book.nextDeadline == nil)
        let came = scene.receive(later)
        #expect(scene.state(came) == .waiting && scene.wakes.isEmpty)
        // Meanwhile a push that has only an alert is shown, although it may have expired.
        let alert = scene.receive(scene.message(StateScene.alert, expires: -1))
        #expect(scene.due.contains(alert))
        if isWrong { scene.now -= 40 * 86_400 }
        scene.book.trustsClock = !isWrong
        scene.look()
        #expect(scene.state(waiting) == (isWrong ? .running : .discarded) && scene.state(came) == scene.state(waiting))
        #expect(!scene.book.isInDoubt(scene.now))
    }

    // MARK: - Repeated and lost pushes

    @Test func `R3: A repeated push has no effect, even after a crash`() throws {
        var scene = try StateScene()
        let message = scene.message(StateScene.both)
        scene.receive(message)
        scene.endWake()
        for _ in 0..<2 {
            #expect(scene.book.received(message, now: scene.now) == false)
            scene.restart()
        }
        #expect(scene.wakes.isEmpty && scene.due.count == 1)
    }

    @Test func `R3: Pushes of two apps are separate even if their ids are equal`() throws {
        var scene = try StateScene()
        let first = scene.message(StateScene.alert)
        scene.receive(first)
        var second = scene.message(StateScene.alert, for: StateScene.other)
        second = Message(
            id: first.id, topic: second.topic, timestamp: second.timestamp, expiry: second.expiry,
            priority: second.priority, type: second.type, collapseID: second.collapseID, isFromStorage: false,
            payload: second.payload)
        scene.receive(second)
        #expect(scene.due.count == 2 && Set(scene.pushes.values.map(\.app)) == [StateScene.app, StateScene.other])
        for _ in 0..<2 {
            for message in [first, second] { #expect(scene.book.received(message, now: scene.now) == false) }
            scene.restart()
        }
    }

    @Test func `R3: The service stores the last thousand pushes, whatever the clock shows`() throws {
        var scene = try StateScene()
        let first = scene.message(StateScene.alert)
        scene.receive(first)
        for _ in 0..<PushState.remembered { scene.receive(scene.message(StateScene.alert)) }
        #expect(scene.pushes.count == PushState.remembered + 1)
        #expect(scene.book.received(first, now: scene.now) == false)
        scene.receive(scene.message(StateScene.alert))
        #expect(scene.pushes.count == PushState.remembered + 1)
        #expect(scene.pushes[first.id.description] == nil)
        scene.now += 40 * 86_400
        let last = scene.message(StateScene.alert)
        scene.receive(last)
        #expect(scene.pushes.count == PushState.remembered + 1)
        #expect(scene.book.received(last, now: scene.now) == false)
    }

    @Test func `R3: A push that could not be written is written when the gateway sends it again`() throws {
        var scene = try StateScene()
        let message = scene.message(StateScene.both)
        scene.book.received(message, now: scene.now)
        scene.book.decide(at: scene.now)
        // The disk has failed, and the service crashes.
        scene.restart()
        #expect(scene.wakes.isEmpty && scene.held == [] && scene.pushes.isEmpty)
        // The disk has failed, and the gateway sends the push again.
        scene.book.received(message, now: scene.now)
        scene.book.decide(at: scene.now)
        #expect(scene.book.received(message, now: scene.now) == false)
        scene.look()
        #expect(scene.wakes.count == 1 && scene.held.count == 1 && scene.pushes.count == 1)
        scene.look()
        #expect(scene.rows.count == 1 && scene.entries.count { $0.decision == .pushReceived } == 1)
    }

    @Test func `R3: The start of a wake that could not be written is written later`() throws {
        var scene = try StateScene()
        scene.device(.dozing)
        let id = scene.receive(scene.message())
        scene.book.apply(DeviceState())
        scene.book.decide(at: scene.now)
        #expect(scene.state(id) == .waiting && scene.wakes.isEmpty)
        scene.look()
        let wake = scene.wakes[StateScene.app]
        #expect(wake?.id == id && wake?.wake.delivery.payload == StateScene.silent && scene.state(id) == .running)
    }

    // MARK: - Registration

    @Test func `R3: An app can register, get a token, and unregister`() throws {
        var scene = try StateScene(registers: false)
        #expect(throws: Problem.self) { try scene.book.register(AppID(rawValue: "org.example.none"), now: 0) }
        try scene.book.register(StateScene.app, now: scene.now)
        #expect(scene.book.wantsConnection == false)
        #expect(scene.book.notice(for: StateScene.app)?.error?.contains("nightshift push enrol") == true)
        scene.book.enrolled(StateScene.enrolment, authority: nil, now: scene.now)
        #expect(scene.book.wantsConnection && scene.book.requests.tokens.map(\.topic) == [StateScene.app.rawValue])
        #expect(scene.book.notice(for: StateScene.app) == PushNotice())
        scene.book.refused(StateScene.app.rawValue, Refusal(.unknownTopic, "No such topic."), now: scene.now)
        #expect(scene.book.notice(for: StateScene.app)?.error?.contains("No such topic.") == true)
        scene.book.registered(StateScene.app.rawValue, token: "aa", now: scene.now)
        scene.look()
        #expect(scene.told == [StateScene.app] && scene.book.notice(for: StateScene.app) == PushNotice(token: "aa"))
        scene.book.unregister(StateScene.app, now: scene.now)
        #expect(scene.book.requests.leaving == [StateScene.app.rawValue] && scene.book.wantsConnection)
        scene.book.unregistered(StateScene.app.rawValue)
        scene.look()
        #expect(scene.book.wantsConnection == false && scene.book.notice(for: StateScene.app) == nil)
        let id = scene.receive(scene.message(StateScene.alert))
        #expect(scene.state(id) == .discarded && scene.due == [])
    }

    @Test func `R3: An app that is removed and installed again gets a new token`() throws {
        var scene = try StateScene()
        scene.receive(scene.message())
        scene.book.installed(StateScene.app, nil, now: scene.now)
        scene.look()
        #expect(scene.apps[StateScene.app] == nil && scene.pushes.isEmpty && scene.wakes.isEmpty)
        #expect(scene.device?.leaving == [StateScene.app.rawValue])
        scene.restart()
        scene.book.installed(StateScene.app, StateScene.manifest(StateScene.app), now: scene.now)
        try scene.book.register(StateScene.app, now: scene.now)
        #expect(scene.book.requests.tokens.map(\.fresh) == [true] && scene.book.requests.leaving == [])
    }

    @Test func `R3: A device that leaves its gateway loses every token`() throws {
        var scene = try StateScene()
        scene.book.left(now: scene.now)
        scene.look()
        #expect(scene.told == [StateScene.app, StateScene.other] && !scene.book.wantsConnection)
        #expect(scene.apps.values.allSatisfy { $0.token == nil && $0.isRegistered })
    }

    // MARK: - Messages for the gateway

    @Test func `R4: The gateway gets the filter of each topic and the state of the device`() throws {
        var scene = try StateScene()
        func filter() -> TopicFilter? { scene.book.topics.first { $0.topic == StateScene.app.rawValue }?.filter }
        #expect(filter() == .enabled)
        scene.book.set(RefreshAvailability.denied, of: StateScene.app)
        #expect(filter() == .enabled, "its alerts are shown")
        scene.book.set(NotificationPermission.denied, of: StateScene.app)
        #expect(filter() == .ignored)
        scene.book.use(StateScene.app, isInFront: true)
        #expect(filter() == .enabled)
        scene.book.use(StateScene.app, isInFront: false)
        scene.book.set(RefreshAvailability.available, of: StateScene.app)
        #expect(filter() == .enabled)
        scene.device { $0.isLowPower = true }
        #expect(filter() == .opportunistic)
        #expect(scene.book.deviceState == .active)
        scene.device { $0.isIdle = true }
        #expect(scene.book.deviceState == .idle)
        scene.device(.dozing)
        #expect(scene.book.deviceState == .dozing)
    }
}
