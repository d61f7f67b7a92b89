import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of the pure state machines for the bus.
@Suite struct BusMachineTests {
    private static func present(_ service: BusService) -> (BusObserver, [BusObserver.Action]) {
        var observer = BusObserver()
        _ = observer.connected(now: 0)
        for other in BusService.allCases where other != service { _ = observer.handle(.owner(other, nil), now: 0) }
        let actions = observer.handle(.owner(service, ":1.1"), now: 0)
        return (observer, actions)
    }

    @Test func `The observer sends its subscriptions before its first queries`() throws {
        var observer = BusObserver()
        let actions = observer.connected(now: 0)
        let isQuestion = actions.map { action in
            if case .send(.subscribe) = action { false } else { true }
        }
        let first = try #require(isQuestion.firstIndex(of: true))
        #expect(isQuestion[first...].allSatisfy { $0 })
        #expect(isQuestion[first...].count == BusService.allCases.count)
        #expect(!observer.isSettled)
    }

    @Test func `The observer is settled only after the answer to its latest query`() {
        var (observer, actions) = Self.present(.networkManager)
        #expect(actions == [.send(.properties(.networkManager, number: 1))])
        // The answer to the request may arrive after the signal and contains the same value.
        #expect(observer.handle(.owner(.networkManager, ":1.1"), now: 0).isEmpty)
        // Another connection takes the name. Values of the former owner are ignored.
        #expect(
            observer.handle(.owner(.networkManager, ":1.2"), now: 0)
                == [.send(.properties(.networkManager, number: 2))])
        _ = observer.handle(.properties(.networkManager, number: 1, .success(["State": .integer(20)])), now: 0)
        #expect(observer[.networkManager].properties == nil && !observer.isSettled)
        _ = observer.handle(.properties(.networkManager, number: 2, .success(["State": .integer(70)])), now: 0)
        #expect(observer[.networkManager].properties == ["State": .integer(70)] && observer.isSettled)
        #expect(observer.deadline == nil)
        let change = PropertyChange(changed: ["State": .integer(20)], invalidated: [])
        _ = observer.handle(.changed(.networkManager, sender: ":1.1", change), now: 0)
        #expect(observer[.networkManager].properties == ["State": .integer(70)])
        _ = observer.handle(.changed(.networkManager, sender: ":1.2", change), now: 0)
        #expect(observer[.networkManager].properties == ["State": .integer(20)])
    }

    @Test func `The observer uses a late answer and does not repeat its query`() {
        var (observer, _) = Self.present(.networkManager)
        #expect(observer.deadline == BusObserver.timeout)
        observer.tick(now: BusObserver.timeout - 0.1)
        #expect(!observer.isSettled)
        observer.tick(now: BusObserver.timeout)
        #expect(observer.isSettled && observer[.networkManager].failure == BusFailure("there was no answer"))
        let change = PropertyChange(changed: ["State": .integer(20)], invalidated: ["Metered"])
        #expect(observer.handle(.changed(.networkManager, sender: ":1.1", change), now: 9).isEmpty)
        _ = observer.handle(.properties(.networkManager, number: 1, .success([:])), now: 99)
        #expect(observer[.networkManager].failure == nil && observer[.networkManager].properties == [:])
    }

    @Test func `The observer queries an invalidated property again and keeps its value until the answer`() {
        var (observer, _) = Self.present(.networkManager)
        _ = observer.handle(.properties(.networkManager, number: 1, .success(["State": .integer(70)])), now: 0)
        let change = PropertyChange(changed: [:], invalidated: ["State"])
        #expect(
            observer.handle(.changed(.networkManager, sender: ":1.1", change), now: 0)
                == [.send(.properties(.networkManager, number: 2))])
        #expect(observer[.networkManager].properties == ["State": .integer(70)])
        _ = observer.handle(
            .properties(.networkManager, number: 2, .failure(BusFailure("the answer was the error no"))), now: 0)
        #expect(observer[.networkManager].properties == nil)
        // The observer asks a service again after a signal if the service could not answer before.
        let word = PropertyChange(changed: ["State": .integer(20)], invalidated: [])
        #expect(
            observer.handle(.changed(.networkManager, sender: ":1.1", word), now: 0)
                == [.send(.properties(.networkManager, number: 3))])
    }

    @Test func `The observer queries logind again after a sleep`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success(["PreparingForSleep": .truth(false)])), now: 0)
        #expect(observer.handle(.prepareForSleep(sender: ":1.9", true), now: 0).isEmpty)
        #expect(observer[.logind].properties == ["PreparingForSleep": .truth(false)], "an impostor's")
        #expect(observer.handle(.prepareForSleep(sender: ":1.1", true), now: 0).isEmpty)
        #expect(observer[.logind].properties == ["PreparingForSleep": .truth(true)])
        #expect(
            observer.handle(.prepareForSleep(sender: ":1.1", false), now: 0)
                == [.send(.properties(.logind, number: 2))])
        #expect(observer[.logind].properties == ["PreparingForSleep": .truth(false)])
    }

    @Test func `Without UPower, the observer asks logind when the kernel reports a power supply`() {
        var (observer, _) = Self.present(.logind)
        #expect(!observer.asksLogindForPower && observer.powerSupplyChanged(now: 0).isEmpty)
        let plugged: [String: BusValue] = ["OnExternalPower": .truth(true)]
        _ = observer.handle(.properties(.logind, number: 1, .success(plugged)), now: 0)
        #expect(observer.powerSupplyChanged(now: 0) == [.send(.properties(.logind, number: 2))])
        // The answer in progress may be older than the event.
        #expect(observer.powerSupplyChanged(now: 0) == [.send(.properties(.logind, number: 3))])
        _ = observer.handle(.properties(.logind, number: 2, .success(plugged)), now: 0)
        #expect(observer.readings[3].values[.power] == "external")
        _ = observer.handle(
            .properties(.logind, number: 3, .success(["OnExternalPower": .truth(false)])), now: 0)
        #expect(observer.readings[3].values[.power] == "battery" && observer.deadline == nil)
        // UPower reports each change on its own.
        _ = observer.handle(.owner(.upower, ":1.2"), now: 0)
        #expect(!observer.asksLogindForPower && observer.powerSupplyChanged(now: 0).isEmpty)
    }

    @Test(arguments: [
        ("change@/devices/AC\0ACTION=change\0SUBSYSTEM=power_supply\0POWER_SUPPLY_ONLINE=0\0", true),
        ("add@/devices/sda\0ACTION=add\0SUBSYSTEM=block\0", false),
        ("change@/devices/AC\0SUBSYSTEM=power_supply", true), ("SUBSYSTEM=power_supply_hwmon\0", false), ("", false),
    ]) func `The observer recognizes the kernel's events about power supplies`(
        _ event: String, _ isAboutPower: Bool
    ) {
        let found = Array(event.utf8).withUnsafeBytes { DeviceEvents.isAboutPower($0) }
        #expect(found == isAboutPower)
    }

    @Test func `A service's last values are valid until the next instance has answered`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success(["IdleHint": .truth(true)])), now: 0)
        _ = observer.handle(.owner(.logind, nil), now: 1)
        #expect(observer.readings[3].values[.idle] == "yes" && !observer.readings[3].isPresent)
        #expect(observer.handle(.owner(.logind, ":1.2"), now: 2) == [.send(.properties(.logind, number: 2))])
        #expect(observer.readings[3].values[.idle] == "yes" && observer.readings[3].isPresent)
        _ = observer.handle(.properties(.logind, number: 2, .success(["IdleHint": .truth(false)])), now: 3)
        #expect(observer.readings[3].values[.idle] == "no" && observer.deadline == nil)
    }

    @Test func `A service's last values expire if no new instance of the service starts`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success(["IdleHint": .truth(true)])), now: 0)
        _ = observer.handle(.owner(.logind, nil), now: 1)
        #expect(observer.deadline == 1 + BusObserver.timeout)
        observer.tick(now: BusObserver.timeout)
        #expect(observer.readings[3].values[.idle] == "yes")
        observer.tick(now: 1 + BusObserver.timeout)
        #expect(observer.readings[3] == .absent(.logind, "not running") && observer.deadline == nil)
    }

    @Test func `A service's last values stay valid if one answer is slow`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success(["IdleHint": .truth(true)])), now: 0)
        _ = observer.handle(.prepareForSleep(sender: ":1.1", false), now: 0)
        observer.tick(now: BusObserver.timeout)
        #expect(observer[.logind].failure == BusFailure("there was no answer"))
        #expect(observer.readings[3].values[.idle] == "yes")
        observer.tick(now: 2 * BusObserver.timeout)
        #expect(observer.readings[3].values.isEmpty && observer.deadline == nil)
        // The observer accepts a late answer.
        _ = observer.handle(.properties(.logind, number: 2, .success(["IdleHint": .truth(true)])), now: 99)
        #expect(observer.readings[3].values[.idle] == "yes" && observer[.logind].failure == nil)
    }

    @Test func `The last values of services survive the loss and return of the bus`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success(["IdleHint": .truth(true)])), now: 0)
        _ = observer.disconnected("gone", now: 1)
        #expect(observer.readings[3].values[.idle] == "yes" && !observer.readings[3].isPresent)
        // Failed attempts do not postpone the end.
        _ = observer.disconnected("gone", now: 3)
        #expect(observer.deadline == 1 + BusObserver.timeout)
        _ = observer.connected(now: 4)
        _ = observer.handle(.owner(.logind, ":1.1"), now: 4)
        #expect(observer.readings[3].values[.idle] == "yes")
        observer.tick(now: 1 + BusObserver.timeout)
        #expect(observer.readings[3].values.isEmpty)
    }

    @Test func `A restarted NetworkManager does not drop the network of an unmanaged interface`() {
        var (observer, _) = Self.present(.networkManager)
        let disconnected: [String: BusValue] = ["State": .integer(20)]
        _ = observer.handle(.properties(.networkManager, number: 1, .success(disconnected)), now: 0)
        _ = observer.route(through: "eth0", now: 0)
        _ = observer.handle(.device(number: 1, path: "/d"), now: 0)
        _ = observer.handle(.deviceState(number: 1, 10), now: 0)
        _ = observer.handle(.owner(.networkManager, nil), now: 1)
        #expect(observer.route(through: "eth0", now: 1).isEmpty && observer.readings[2].values.isEmpty)
        _ = observer.handle(.owner(.networkManager, ":1.2"), now: 2)
        #expect(observer.route(through: "eth0", now: 2).isEmpty && observer.readings[2].values.isEmpty)
        // The new instance is asked again and may answer differently.
        _ = observer.handle(.properties(.networkManager, number: 2, .success(disconnected)), now: 3)
        #expect(observer.route(through: "eth0", now: 3) == [.send(.device(interface: "eth0", number: 2))])
        #expect(observer.readings[2].values.isEmpty)
        _ = observer.handle(.device(number: 2, path: nil), now: 3)
        #expect(observer.readings[2].values == [.network: "no"])
    }

    @Test func `The observer requests a lock again that was refused during a sleep`() {
        var (observer, _) = Self.present(.logind)
        _ = observer.handle(.properties(.logind, number: 1, .success([:])), now: 0)
        _ = observer.handle(.prepareForSleep(sender: ":1.1", true), now: 0)
        #expect(observer.holdAwake("a test", now: 0) == [.send(.inhibit(why: "a test", number: 1))])
        let refusal = BusFailure("the answer was the error org.freedesktop.login1.OperationInProgress")
        #expect(observer.handle(.lock(number: 1, .failure(refusal)), now: 0).isEmpty)
        #expect(observer.holdAwake("a test", now: 0).isEmpty)
        #expect(
            observer.handle(.prepareForSleep(sender: ":1.1", false), now: 0)
                == [.send(.properties(.logind, number: 2)), .send(.inhibit(why: "a test", number: 2))])
        #expect(observer.lock.refusal == nil)
        // A lock that is held or requested is not requested again.
        #expect(observer.handle(.prepareForSleep(sender: ":1.1", false), now: 0).isEmpty)
        #expect(observer.handle(.lock(number: 2, .success(7)), now: 0).isEmpty && observer.lock.isHeld)
        #expect(observer.handle(.prepareForSleep(sender: ":1.1", false), now: 0).isEmpty)
    }

    @Test func `The observer queries an interface only when NetworkManager reports no network`() {
        var (observer, _) = Self.present(.networkManager)
        #expect(observer.route(through: "eth0", now: 0).isEmpty, "It has not said anything yet.")
        _ = observer.handle(.properties(.networkManager, number: 1, .success(["State": .integer(70)])), now: 0)
        #expect(observer.route(through: "eth0", now: 0).isEmpty)
        let change = PropertyChange(changed: ["State": .integer(20)], invalidated: [])
        _ = observer.handle(.changed(.networkManager, sender: ":1.1", change), now: 0)
        #expect(observer.route(through: nil, now: 0).isEmpty)
        #expect(observer.route(through: "eth0", now: 0) == [.send(.device(interface: "eth0", number: 1))])
        #expect(observer.route(through: "eth0", now: 0).isEmpty)
        #expect(!observer.isSettled)
        #expect(
            observer.handle(.device(number: 1, path: "/d"), now: 0)
                == [.send(.deviceState(path: "/d", number: 1))])
        #expect(observer.readings[2].values == [.network: "no"])
        _ = observer.handle(.deviceState(number: 1, 10), now: 0)
        #expect(observer.isSettled && observer.foreign.isForeign)
        #expect(observer.readings[2].values.isEmpty)
        // Another interface needs another request. A late answer about the first one is ignored.
        #expect(observer.route(through: "eth1", now: 0) == [.send(.device(interface: "eth1", number: 2))])
        _ = observer.handle(.deviceState(number: 1, 10), now: 0)
        #expect(!observer.foreign.isForeign)
        _ = observer.handle(.device(number: 2, path: "/e"), now: 0)
        _ = observer.handle(.deviceState(number: 2, 100), now: 0)
        #expect(observer.readings[2].values == [.network: "no"])
    }

    @Test func `The newer power profiles service takes precedence over the older one`() {
        var (observer, _) = Self.present(.powerProfiles)
        _ = observer.handle(.owner(.hadessPowerProfiles, ":1.1"), now: 0)
        _ = observer.handle(
            .properties(.powerProfiles, number: 1, .success(["ActiveProfile": .text("power-saver")])), now: 0)
        _ = observer.handle(
            .properties(.hadessPowerProfiles, number: 2, .success(["ActiveProfile": .text("balanced")])), now: 0)
        #expect(observer.readings.first { $0.source == .powerProfiles }?.values == [.lowPower: "yes"])
    }

    @Test func `The observer reports a failed subscription`() {
        var (observer, _) = Self.present(.upower)
        _ = observer.handle(.subscriptionFailed(BusFailure("the answer was the error LimitsExceeded")), now: 0)
        #expect(
            observer.readings[0].oddities.contains("changes may be missed (the answer was the error LimitsExceeded)"))
    }

    @Test func `A lost bus ends the inhibitor lock, which is requested again after reconnection`() {
        var (observer, _) = Self.present(.logind)
        #expect(observer.holdAwake("a test", now: 0) == [.send(.inhibit(why: "a test", number: 1))])
        #expect(observer.handle(.lock(number: 1, .success(7)), now: 0).isEmpty)
        #expect(observer.lock.isHeld)
        #expect(observer.disconnected("gone", now: 0) == [.close(7)])
        #expect(observer.isPresent(.logind) == nil && observer.deadline == nil && !observer.lock.isHeld)
        _ = observer.connected(now: 0)
        let actions = observer.handle(.owner(.logind, ":1.1"), now: 0)
        #expect(actions.contains(.send(.inhibit(why: "a test", number: 2))))
    }

    @Test func `The observer retries a socket that accepts connections but does not answer`() {
        var reconnection = Reconnection()
        reconnection.reached()
        reconnection.failed(hasAppeared: false, now: 0)
        #expect(reconnection.deadline == 1)
        reconnection.reached()
        reconnection.failed(hasAppeared: false, now: 1)
        #expect(reconnection.deadline == 3)
    }

    @Test func `The pauses between reconnections double until the attempts end`() throws {
        var reconnection = Reconnection()
        reconnection.failed(hasAppeared: false, now: 0)
        #expect(reconnection.deadline == nil, "It was never there.")
        reconnection.succeeded()
        var now = 0.0
        var pauses: [Double] = []
        for _ in 1...20 {
            reconnection.failed(hasAppeared: false, now: now)
            guard let deadline = reconnection.deadline else { break }
            pauses.append(deadline - now)
            now = deadline
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
        #expect(reconnection.deadline == nil)
        reconnection.failed(hasAppeared: true, now: now)
        #expect(reconnection.deadline == now + 1)
    }
}

/// Tests of the inhibitor lock: a table of cases, and a random walk that checks invariants.
@Suite struct InhibitorLockTests {
    @Test func `The observer requests the lock if it has a reason and logind is present`() {
        var lock = InhibitorLock()
        #expect(lock.setReason("a").isEmpty)
        #expect(lock.served(true) == [.ask(why: "a", number: 1)])
        #expect(lock.setReason("a").isEmpty)
        #expect(lock.answered(number: 1, .success(5)).isEmpty)
        // The new lock is taken before the old one is released.
        #expect(lock.setReason("b") == [.ask(why: "b", number: 2)])
        #expect(lock.answered(number: 2, .success(6)) == [.close(5)])
        #expect(lock.setReason(nil) == [.close(6)])
    }

    @Test func `The observer does not request a refused lock again until its reason changes`() {
        var lock = InhibitorLock()
        _ = lock.served(true)
        #expect(lock.setReason("a") == [.ask(why: "a", number: 1)])
        #expect(lock.answered(number: 1, .failure(BusFailure("the answer was the error no"))).isEmpty)
        #expect(lock.refusal == BusFailure("the answer was the error no"))
        #expect(lock.setReason("a").isEmpty)
        #expect(lock.setReason("b") == [.ask(why: "b", number: 2)])
        #expect(lock.refusal == nil)
        lock.isOverdue(number: 1)
        #expect(lock.refusal == nil)
        lock.isOverdue(number: 2)
        #expect(lock.refusal == BusFailure("there was no answer"))
        #expect(lock.answered(number: 2, .success(5)).isEmpty)
        #expect(lock.refusal == nil && lock.isHeld)
    }

    /// The lock neither loses a descriptor nor closes one twice, and at the end it holds exactly the wanted descriptor.
    @Test(arguments: 1...20) func `The observer closes every lock descriptor exactly once`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var lock = InhibitorLock()
        var open: Set<Int32> = []
        var questions: [Int] = []
        var isServed = false
        var wanted: String?
        var next: Int32 = 1
        func perform(_ actions: [InhibitorLock.Action]) {
            for action in actions {
                switch action {
                case .ask(let why, let number):
                    #expect(isServed && why == wanted)
                    questions.append(number)
                case .close(let descriptor): #expect(open.remove(descriptor) != nil)
                }
            }
        }
        func answer(_ number: Int) {
            open.insert(next)
            next += 1
            perform(lock.answered(number: number, .success(next - 1)))
        }
        for _ in 1...500 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                wanted = ["a", "b", nil].randomElement(using: &random) ?? nil
                perform(lock.setReason(wanted))
            case 1:
                isServed.toggle()
                perform(lock.served(isServed))
            case 2:
                if !questions.isEmpty { answer(questions.removeFirst()) }
            case 3:
                guard !questions.isEmpty else { continue }
                perform(
                    lock.answered(number: questions.removeFirst(), .failure(BusFailure("the answer was the error no"))))
            case 4: perform(lock.sleepEnded())
            default: lock.isOverdue(number: questions.first ?? 0)
            }
            #expect(open.count <= 1)
            #expect(lock.isHeld == !open.isEmpty)
        }
        isServed = true
        perform(lock.served(true))
        wanted = "z"
        perform(lock.setReason(wanted))
        while !questions.isEmpty { answer(questions.removeFirst()) }
        #expect(lock.isHeld)
        perform(lock.setReason(nil))
        #expect(open.isEmpty)
    }
}
