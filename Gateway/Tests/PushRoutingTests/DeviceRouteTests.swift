import PushProtocol
import PushRouting
import Testing

@Suite struct DeviceRouteTests {
    let settings = TokenBucket.Settings.standard

    /// Returns a route whose device is connected and has received all waiting pushes.
    func open(_ state: ReportedActivity = .active, _ topics: [TopicChoice] = []) -> DeviceRoute {
        var route = DeviceRoute()
        let occasion = DeviceRoute.Occasion(company: .connect)
        #expect(route.connected(1, state, topics) == [.load(connection: 1, occasion)])
        #expect(route.loaded([], connection: 1, occasion: occasion, settings, now: .at(0)) == [])
        return route
    }

    @Test func `R5: A push for a connected device is sent after its commit, and deleted when acknowledged`() {
        var route = open()
        let push = Push.sample(1)
        #expect(route.admit(push, settings, now: .at(0)) == .store(.alert(push.id), heldUntil: nil, nil))
        let sent = DeviceRoute.Action.send(push.message(isFromStorage: false), connection: 1)
        #expect(route.committed(push.stored(), replaced: [], now: .at(0)) == [sent])
        #expect(
            route.acknowledged(push.id, connection: 1)
                == [.remove(push.stored().place, [.delivered])])
        #expect(route.acknowledged(push.id, connection: 1) == [])
    }

    @Test
    func `R5: The second of two pushes with one id is sent after the first is acknowledged`() {
        var route = open()
        let mail = Push.sample(1)
        let news = Push.sample(1, topic: "org.example.News")
        let (first, second) = (mail.stored(sequence: 1), news.stored(sequence: 2))
        func sent(_ push: Push, isFromStorage: Bool) -> DeviceRoute.Action {
            .send(push.message(isFromStorage: isFromStorage), connection: 1)
        }
        #expect(route.committed(first, replaced: [], now: .at(0)) == [sent(mail, isFromStorage: false)])
        #expect(route.committed(second, replaced: [], now: .at(0)) == [])
        #expect(
            route.acknowledged(mail.id, connection: 1)
                == [.remove(first.place, [.delivered]), .load(connection: 1, .init())])
        #expect(
            route.loaded([second], connection: 1, occasion: .init(), settings, now: .at(0))
                == [sent(news, isFromStorage: true)])
        #expect(route.acknowledged(news.id, connection: 1) == [.remove(second.place, [.deliveredFromStorage])])
    }

    @Test func `R5: Waiting pushes with one id are sent one after the other`() {
        var route = DeviceRoute()
        let occasion = DeviceRoute.Occasion(company: .connect)
        _ = route.connected(1, .active, [])
        let mail = Push.sample(1)
        let (first, second) = (
            mail.stored(sequence: 1), Push.sample(1, topic: "org.example.News").stored(sequence: 2)
        )
        let sent = route.loaded([first, second], connection: 1, occasion: occasion, settings, now: .at(0))
        #expect(sent == [.send(mail.message(isFromStorage: true), connection: 1)])
        #expect(route.attempt(Push.sample(1, topic: "c", lifetime: .once)) == [.log(mail.id, .discarded(.busy))])
        #expect(
            route.acknowledged(mail.id, connection: 1)
                == [.remove(first.place, [.deliveredFromStorage]), .load(connection: 1, .init())])
    }

    @Test func `R5: A connected device gets every alert in order, although other pushes wait`() {
        var route = open(.active, [TopicChoice("other", .paused)])
        let paused = Push.sample(1, topic: "other")
        #expect(route.admit(paused, settings, now: .at(0)) == .store(.latest, heldUntil: nil, .storedPaused))
        #expect(route.committed(paused.stored(), replaced: [], now: .at(0)) == [])
        let alerts = (2...4 as ClosedRange<UInt64>).map { Push.sample($0) }
        var rows = [paused.stored()]
        var actions: [DeviceRoute.Action] = []
        for alert in alerts {
            guard case .store(let slot, _, _) = route.admit(alert, settings, now: .at(0)) else { continue }
            rows.append(alert.stored(slot))
            actions += route.committed(alert.stored(slot), replaced: [], now: .at(0))
        }
        #expect(Set(rows.map(\.slot)).count == 4)
        let occasion = DeviceRoute.Occasion(company: .push(alerts[0].id))
        #expect(actions == [.load(connection: 1, occasion)])
        let sent = route.loaded(rows, connection: 1, occasion: occasion, settings, now: .at(0)).compactMap { action in
            if case .send(let message, _) = action { message.id } else { nil }
        }
        #expect(sent == alerts.map(\.id))
    }

    @Test func `R5: A silent push never replaces an alert`() {
        let alert = Push.sample(1)
        let silent = Push.sample(2, priority: .considerate, isSilent: true)
        for keepsEach in [true, false] {
            #expect(alert.slot(keepsEach: keepsEach) != silent.slot(keepsEach: keepsEach))
        }
    }

    @Test func `R5: The gateway stores a push for a disconnected device, and delivers the push later`() {
        var route = DeviceRoute()
        let push = Push.sample(1)
        #expect(route.admit(push, settings, now: .at(0)) == .store(.latest, heldUntil: nil, .storedOffline))
        #expect(route.committed(push.stored(), replaced: [], now: .at(0)) == [])
        let occasion = DeviceRoute.Occasion(company: .connect)
        _ = route.connected(1, .active, [])
        #expect(
            route.loaded([push.stored()], connection: 1, occasion: occasion, settings, now: .at(5))
                == [.send(push.message(isFromStorage: true), connection: 1)])
        #expect(
            route.acknowledged(push.id, connection: 1)
                == [.remove(push.stored().place, [.deliveredFromStorage])])
    }

    @Test func `R4, R5, B6: A third silent push waits, and is sent with the next alert`() {
        var route = open()
        for number in 1...2 as ClosedRange<UInt64> {
            let push = Push.sample(number, priority: .considerate, isSilent: true)
            #expect(route.admit(push, settings, now: .at(0)) == .store(.silent, heldUntil: nil, nil))
            #expect(route.committed(push.stored(.silent), replaced: [], now: .at(0)).count == 1)
            _ = route.acknowledged(push.id, connection: 1)
        }
        let third = Push.sample(3, priority: .considerate, isSilent: true)
        let until = RouteTime.at(1_800).wallMilliseconds
        guard case .store(.held, let heldUntil?, .held) = route.admit(third, settings, now: .at(0)) else {
            return #expect(Bool(false), "not held")
        }
        #expect(abs(heldUntil - until) <= 1)
        let held = third.stored(.held, heldUntil: heldUntil)
        #expect(route.committed(held, replaced: [], now: .at(0)) == [.wake(connection: 1, at: heldUntil)])

        let alert = Push.sample(4, topic: "org.example.News", at: 60)
        let occasion = DeviceRoute.Occasion(company: .push(alert.id))
        #expect(
            route.committed(alert.stored(), replaced: [], now: .at(60)) == [.load(connection: 1, occasion)])
        #expect(
            route.loaded([alert.stored(), held], connection: 1, occasion: occasion, settings, now: .at(60)) == [
                .send(third.message(isFromStorage: true), connection: 1),
                .send(alert.message(isFromStorage: false), connection: 1),
            ])
        #expect(
            route.acknowledged(third.id, connection: 1)
                == [.remove(held.place, [.rodeAlong(.push(alert.id)), .deliveredFromStorage])])
    }

    @Test func `R4, R5: A held push is sent at its due time, and not earlier`() {
        var route = open()
        let push = Push.sample(1, isSilent: true)
        let until = RouteTime.at(100).wallMilliseconds
        let held = push.stored(.held, heldUntil: until)
        _ = route.committed(held, replaced: [], now: .at(0))
        #expect(route.turn(connection: 1) == [.load(connection: 1, .init())])
        #expect(
            route.loaded([held], connection: 1, occasion: .init(), settings, now: .at(99))
                == [.wake(connection: 1, at: until)])
        #expect(route.turn(connection: 1) == [.load(connection: 1, .init())])
        #expect(
            route.loaded([held], connection: 1, occasion: .init(), settings, now: .at(100))
                == [.send(push.message(isFromStorage: true), connection: 1)])
        #expect(route.turn(connection: 1) == [])
    }

    @Test func `R5: Held pushes are sent before the answer to a keep-alive`() {
        var route = open()
        #expect(route.keptAlive(connection: 1, now: .at(0)) == [.answerKeepAlive(connection: 1)])
        let push = Push.sample(1, isSilent: true)
        let held = push.stored(.held, heldUntil: RouteTime.at(900).wallMilliseconds)
        _ = route.committed(held, replaced: [], now: .at(0))
        let occasion = DeviceRoute.Occasion(company: .keepAlive, answersKeepAlive: true)
        #expect(route.keptAlive(connection: 1, now: .at(0)) == [.load(connection: 1, occasion)])
        #expect(
            route.loaded([held], connection: 1, occasion: occasion, settings, now: .at(1)) == [
                .send(push.message(isFromStorage: true), connection: 1), .answerKeepAlive(connection: 1),
            ])
    }

    @Test func `R5: A push that arrives while a device connects is sent exactly once`() {
        // The push is stored before the device's rows are read. The load returns it, and a further load is requested.
        var route = DeviceRoute()
        let connect = DeviceRoute.Occasion(company: .connect)
        _ = route.connected(1, .active, [])
        let push = Push.sample(1)
        #expect(route.committed(push.stored(), replaced: [], now: .at(0)) == [])
        let again = DeviceRoute.Occasion(company: .push(push.id))
        let sent = DeviceRoute.Action.send(push.message(isFromStorage: true), connection: 1)
        #expect(
            route.loaded([push.stored()], connection: 1, occasion: connect, settings, now: .at(0))
                == [sent, .load(connection: 1, again)])
        #expect(route.loaded([push.stored()], connection: 1, occasion: again, settings, now: .at(0)) == [])
    }

    @Test func `R5: A push that is acknowledged during a load is not sent again`() {
        var route = open()
        let push = Push.sample(1)
        _ = route.committed(push.stored(), replaced: [], now: .at(0))
        let held = Push.sample(2, isSilent: true).stored(.held, heldUntil: RouteTime.at(900).wallMilliseconds)
        _ = route.committed(held, replaced: [], now: .at(0))
        #expect(route.keptAlive(connection: 1, now: .at(0)).count == 1)
        _ = route.acknowledged(push.id, connection: 1)
        let actions = route.loaded([push.stored()], connection: 1, occasion: .init(), settings, now: .at(0))
        #expect(actions == [])
    }

    @Test func `R5: A device that connects twice is served only on the newer connection`() {
        var route = open()
        #expect(route.connected(2, .active, []).contains(.supersede(connection: 1)))
        #expect(route.disconnected(1) == [])
        #expect(route.isConnected)
        #expect(route.keptAlive(connection: 1, now: .at(0)) == [])
    }

    @Test func `R5: A slow device has at most one window of pushes in flight`() {
        var route = open()
        var sent: [PushID] = []
        for number in 1...80 as ClosedRange<UInt64> {
            let push = Push.sample(number, topic: "t\(number)")
            for case .send(let message, _) in route.committed(push.stored(), replaced: [], now: .at(0)) {
                sent.append(message.id)
            }
        }
        #expect(sent.count == DeviceRoute.window)
    }

    @Test func `R5: A push beyond a full window causes no load until the device has caught up`() {
        var route = open()
        let pushes = (1...80 as ClosedRange<UInt64>).map { Push.sample($0, topic: "t\($0)") }
        for push in pushes.prefix(DeviceRoute.window) {
            #expect(route.committed(push.stored(), replaced: [], now: .at(0)).count == 1)
        }
        for push in pushes.dropFirst(DeviceRoute.window) {
            #expect(route.committed(push.stored(), replaced: [], now: .at(0)) == [])
        }
        var loads: [DeviceRoute.Occasion] = []
        for push in pushes.prefix(DeviceRoute.window) {
            for case .load(_, let occasion) in route.acknowledged(push.id, connection: 1) { loads.append(occasion) }
        }
        #expect(loads == [DeviceRoute.Occasion(company: .push(PushID(high: 0, low: 65)))])
        let rows = pushes.dropFirst(DeviceRoute.window).map { $0.stored() }
        let sent = route.loaded(rows, connection: 1, occasion: loads.first ?? .init(), settings, now: .at(0))
        #expect(sent.count == rows.count)
    }

    @Test func `R5: A device that sends frequent keep-alives causes only occasional loads`() {
        var route = DeviceRoute(isShared: true)
        let connect = DeviceRoute.Occasion(company: .connect)
        _ = route.connected(1, .active, [])
        _ = route.loaded([], connection: 1, occasion: connect, settings, now: .at(0))
        var loads = 0
        var answers = 0
        var wakes: [Int64] = []
        func count(_ actions: [DeviceRoute.Action], _ time: Double) {
            for action in actions {
                switch action {
                case .load(_, let occasion):
                    loads += 1
                    count(route.loaded([], connection: 1, occasion: occasion, settings, now: .at(time)), time)
                case .answerKeepAlive: answers += 1
                case .wake(_, let time): wakes.append(time)
                default: break
                }
            }
        }
        for number in 0..<100 {
            let time = Double(number) / 100
            count(route.keptAlive(connection: 1, now: .at(time)), time)
        }
        #expect(loads == 1 && answers == 100)
        #expect(wakes == [RouteTime.at(DeviceRoute.spacing).wallMilliseconds])
        // The requests since then are due now, and the next load is one spacing later.
        count(route.turn(connection: 1), DeviceRoute.spacing)
        count(route.keptAlive(connection: 1, now: .at(6)), 6)
        #expect(loads == 2 && answers == 101 && wakes.count == 2)
    }

    @Test func `R5: The gateway defers a second load for a change, but not a load for a push`() {
        var route = open()
        let mail = Push.sample(1, priority: .considerate)
        let paused = [TopicChoice("org.example.News", .paused)]
        _ = route.changed(state: .dozing, connection: 1, now: .at(0))
        #expect(route.committed(mail.stored(), replaced: [], now: .at(0)) == [])
        #expect(route.changed(topics: paused, connection: 1, now: .at(0)) == [.load(connection: 1, .init())])
        #expect(route.loaded([mail.stored()], connection: 1, occasion: .init(), settings, now: .at(0)) == [])
        let turn = DeviceRoute.Action.wake(connection: 1, at: RouteTime.at(DeviceRoute.spacing).wallMilliseconds)
        #expect(route.changed(state: .active, connection: 1, now: .at(1)) == [turn])
        #expect(route.turn(connection: 1) == [.load(connection: 1, .init())])
        let sent = route.loaded([mail.stored()], connection: 1, occasion: .init(), settings, now: .at(5))
        #expect(sent == [.send(mail.message(isFromStorage: true), connection: 1)])

        // The same rule applies after a deferred load. A load for a push reads all waiting pushes at once.
        var other = open(.dozing)
        _ = other.committed(mail.stored(), replaced: [], now: .at(0))
        _ = other.changed(topics: paused, connection: 1, now: .at(0))
        _ = other.loaded([mail.stored()], connection: 1, occasion: .init(), settings, now: .at(0))
        #expect(other.changed(state: .active, connection: 1, now: .at(1)) == [turn])
        let alert = Push.sample(2, topic: "c")
        let occasion = DeviceRoute.Occasion(company: .push(alert.id))
        #expect(other.committed(alert.stored(), replaced: [], now: .at(1)) == [.load(connection: 1, occasion)])
    }

    @Test func `R5: The gateway answers a keep-alive during a load after that load`() {
        var route = DeviceRoute(isShared: true)
        let connect = DeviceRoute.Occasion(company: .connect)
        _ = route.connected(1, .active, [])
        _ = route.loaded([], connection: 1, occasion: connect, settings, now: .at(0))
        let occasion = DeviceRoute.Occasion(company: .keepAlive, answersKeepAlive: true)
        #expect(route.keptAlive(connection: 1, now: .at(0)) == [.load(connection: 1, occasion)])
        let again = route.keptAlive(connection: 1, now: .at(1))
        #expect(!again.contains(.answerKeepAlive(connection: 1)))
        #expect(
            route.loaded([], connection: 1, occasion: occasion, settings, now: .at(1))
                == [.answerKeepAlive(connection: 1)])
    }

    @Test func `R5: A push with one attempt is sent only to a connected device`() {
        var away = DeviceRoute()
        let push = Push.sample(1, lifetime: .once)
        #expect(away.admit(push, settings, now: .at(0)) == .discard(.notConnected))
        var route = open()
        #expect(route.admit(push, settings, now: .at(0)) == .attempt)
        #expect(route.attempt(push) == [.send(push.message(isFromStorage: false), connection: 1)])
        #expect(route.disconnected(1) == [.log(push.id, .discarded(.connectionEnded))])
    }

    @Test(arguments: [
        (ReportedActivity.active, [true, true, true]), (.idle, [false, true, true]), (.dozing, [false, false, true]),
    ])
    func `R5: The priority of a push decides whether a dozing device receives the push at once`(
        state: ReportedActivity, goes: [Bool]
    ) {
        for (priority, goes) in zip(PushPriority.allCases.sorted(), goes) {
            var route = open(state)
            let push = Push.sample(1, priority: priority)
            let expected: DeliveryEvent? = goes ? nil : .storedPower
            #expect(route.admit(push, settings, now: .at(0)) == .store(.alert(push.id), heldUntil: nil, expected))
            #expect(route.committed(push.stored(), replaced: [], now: .at(0)).isEmpty == !goes)
            #expect(route.changed(state: .active, connection: 1, now: .at(0)).isEmpty == (goes || state == .active))
        }
    }

    @Test func `R5: A topic is enabled, ignored, opportunistic or paused`() {
        func admission(_ filter: TopicFilter) -> DeviceRoute.Admission {
            var route = open(.active, [TopicChoice("org.example.Mail", filter)])
            return route.admit(.sample(1), settings, now: .at(0))
        }
        let slot = Slot.alert(Push.sample(1).id)
        #expect(admission(.enabled) == .store(slot, heldUntil: nil, nil))
        #expect(admission(.ignored) == .discard(.disabled))
        #expect(admission(.opportunistic) == .store(slot, heldUntil: nil, .storedOpportunistic))
        #expect(admission(.paused) == .store(.latest, heldUntil: nil, .storedPaused))
    }

    @Test func `B6: The log records a replaced push as replaced unless the device receives it in time`() {
        var route = open()
        let first = Push.sample(1)
        let second = Push.sample(2)
        _ = route.committed(first.stored(), replaced: [], now: .at(0))
        // The push is not acknowledged yet, so its outcome is not logged.
        #expect(route.committed(second.stored(), replaced: [first.id], now: .at(0)).count == 1)
        #expect(route.disconnected(1).contains(.log(first.id, .discarded(.replaced(by: second.id)))))
        #expect(
            route.committed(Push.sample(3).stored(), replaced: [second.id], now: .at(0))
                == [.log(second.id, .discarded(.replaced(by: PushID(high: 0, low: 3))))])
    }

    @Test func `R5: A bucket refills with time, up to its capacity`() {
        var bucket = TokenBucket(settings, now: 0)
        let taken = [0, 0, 1_799].map { bucket.take(settings, now: $0) }
        #expect(taken == [true, true, false])
        #expect(abs(bucket.wait(settings, now: 1_799) - 1) < 0.01)
        let later = [1_800, 1_800, 100_000, 100_000, 100_000].map { bucket.take(settings, now: $0) }
        #expect(later == [true, false, true, true, false])
        #expect(bucket.isFull(settings, now: 200_000))
    }

    @Test func `R5, B7: The log distinguishes an evicted message from a replaced message`() {
        var route = open()
        func message(_ number: UInt64, named: String? = nil) -> Push {
            var push = Push.sample(number)
            push.type = .unifiedpush
            push.collapseID = named
            return push
        }
        let (first, second) = (message(1), message(2, named: "n"))
        #expect(route.admit(first, settings, now: .at(0)) == .store(.message(first.id), heldUntil: nil, nil))
        #expect(route.admit(second, settings, now: .at(0)) == .store(.named("n"), heldUntil: nil, nil))
        _ = route.committed(first.stored(first.slot(keepsEach: false)), replaced: [], now: .at(0))
        let away = PushID(high: 5, low: 5)
        let actions = route.committed(
            second.stored(second.slot(keepsEach: false)), replaced: [], evicted: [first.id, away], now: .at(0))
        #expect(
            actions == [
                .log(away, .discarded(.evicted)), .send(second.message(isFromStorage: false), connection: 1),
            ])
        let ends = route.disconnected(1)
        #expect(ends.contains(.log(first.id, .discarded(.evicted))) && ends.contains(.log(second.id, .storedOffline)))
    }

    @Test func `R5, B7: An acknowledged message in a shared store is not sent again after many others`() {
        var route = DeviceRoute(isShared: true)
        _ = route.connected(1, .active, [])
        _ = route.loaded([], connection: 1, occasion: DeviceRoute.Occasion(), settings, now: .at(0))
        // An app's push takes a slot for which the report of an older push may still arrive.
        let (old, new) = (Push.sample(1), Push.sample(2))
        _ = route.arrived(new.stored(), now: .at(0))
        _ = route.acknowledged(new.id, connection: 1)
        var last = new
        for number in 3..<1_000 as Range<UInt64> {
            last = Push.sample(number)
            last.type = .unifiedpush
            #expect(
                DeviceRoute.forward(last, nil, keepsEach: true, now: .at(0))
                    == .store(.message(last.id), heldUntil: nil, nil))
            #expect(route.arrived(last.stored(last.slot(keepsEach: false)), now: .at(0)).count == 1)
            _ = route.acknowledged(last.id, connection: 1)
        }
        #expect(route.arrived(last.stored(last.slot(keepsEach: false)), now: .at(0)) == [])
        #expect(route.arrived(old.stored(), now: .at(0)) == [])
    }

    @Test func `R5, B7: A device keeps its newest messages, within limits of number, size and topic`() {
        func message(_ number: UInt64, _ topic: String = "a", size: Int = 1, named: String? = nil) -> QueuedPush {
            var push = Push.sample(number, topic: topic)
            push.type = .unifiedpush
            push.collapseID = named
            push.payload = [UInt8](repeating: 0, count: size)
            return push.stored(push.slot(keepsEach: false))
        }
        let (first, second) = (message(1, named: "n"), message(2, "b", named: "n"))
        let (third, fourth) = (message(3, named: "n"), message(4))
        let some = KeptMessages.bounded([fourth, third, second, first])
        #expect(some.kept == [second, third, fourth])
        #expect(some.lost.map(\.stored) == [first] && some.lost.map(\.why) == [.replaced(by: third.push.id)])
        let many = (0..<150 as Range<UInt64>).map { message($0, size: KeptMessages.bytes / 50) }
        let few = KeptMessages.bounded(many)
        #expect(few.kept == Array(many.suffix(50)) && few.lost.map(\.stored) == Array(many.prefix(100)))
        #expect(few.lost.allSatisfy { $0.why == .evicted })
        let all = (0..<1_100 as Range<UInt64>).map { message($0, "t\($0 % 11)") }
        #expect(KeptMessages.bounded(all).kept == Array(all.suffix(KeptMessages.countOfDevice)))
    }
}
