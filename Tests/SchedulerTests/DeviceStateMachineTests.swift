import Foundation
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the device states and journal entries that follow from the conditions of the device.
@Suite struct DeviceStateMachineTests {
    private static func now(_ seconds: Double) -> ClockReading {
        ClockReading(bootID: "boot", bootSeconds: seconds, wallSeconds: 1_000 + seconds)
    }

    private static func conditions(_ adjust: (inout DeviceConditions) -> Void) -> DeviceConditions {
        var conditions = DeviceConditions()
        adjust(&conditions)
        return conditions
    }

    /// Conditions of an unused device on battery, which lead to doze.
    private static let leftAlone = conditions {
        $0.power = .battery
        $0.isIdle = true
    }

    private static func machine() -> DeviceStateMachine { DeviceStateMachine(doze: DozeMachine.State(since: 1_000)) }

    private static func entries(_ actions: [DeviceStateMachine.Action]) -> [JournalEntry] {
        actions.flatMap { if case .record(let entries) = $0 { entries } else { [] as [JournalEntry] } }
    }

    private static func holder(_ app: String, _ tasks: [String]) -> AwakeHolder {
        AwakeHolder(app: AppID(rawValue: app), tasks: tasks, since: Date(timeIntervalSince1970: 0))
    }

    @Test func `The state machine begins with the current conditions`() {
        var machine = Self.machine()
        let found = Self.conditions {
            $0.power = .battery
            $0.freeBytes = 5
        }
        let actions = machine.begin(found, now: Self.now(0))
        let entry = Self.entries(actions).first
        #expect(entry?.decision == .deviceChanged && entry?.detail == "The conditions when the service started.")
        #expect(entry?.inputs?["power"] == "battery" && entry?.inputs?["freeBytes"] == nil)
        #expect(entry?.inputs?.count == DeviceKey.conditions.count - 1)
        #expect(entry?.inputs?["location"] == nil, "a place is private")
        #expect(actions.last == .announce)
        #expect(machine.moment == DeviceState(conditions: found, phase: .awake))
    }

    @Test func `The journal records a change of conditions with the old and the new value`() {
        var machine = Self.machine()
        _ = machine.begin(Self.conditions { $0.power = .battery }, now: Self.now(0))
        let actions = machine.changed(
            to: Self.conditions {
                $0.power = .battery
                $0.batteryPercentage = 40
                $0.isSleeping = true
            }, now: Self.now(5))
        #expect(Self.entries(actions).map(\.decision) == [.deviceChanged, .deviceSlept])
        #expect(Self.entries(actions).first?.detail == "battery: none → 40, sleeping: no → yes")
        #expect(Self.entries(actions).first?.inputs == ["battery": "40", "sleeping": "yes"])
        #expect(Self.entries(actions).allSatisfy { $0.time == Self.now(5).date })
        #expect(actions.last == .announce)
        let woke = machine.changed(to: Self.conditions { $0.batteryPercentage = 40 }, now: Self.now(6))
        #expect(Self.entries(woke).map(\.decision) == [.deviceChanged, .deviceWoke])
    }

    @Test func `The journal records a sleep that the service notices only after the wake`() {
        var machine = Self.machine()
        _ = machine.begin(Self.conditions { $0.sleeps = 3 }, now: Self.now(0))
        let actions = machine.changed(to: Self.conditions { $0.sleeps = 4 }, now: Self.now(5))
        #expect(Self.entries(actions).map(\.decision) == [.deviceSlept, .deviceWoke])
        #expect(actions.last == .announce && machine.conditions.sleeps == 4)
        #expect(machine.changed(to: Self.conditions { $0.sleeps = 4 }, now: Self.now(6)) == [])
        // The end of a sleep is recorded when the sleep ends.
        let slept = machine.changed(
            to: Self.conditions {
                $0.sleeps = 5
                $0.isSleeping = true
            }, now: Self.now(7))
        #expect(Self.entries(slept).map(\.decision) == [.deviceChanged, .deviceSlept])
        let woke = machine.changed(to: Self.conditions { $0.sleeps = 5 }, now: Self.now(8))
        #expect(Self.entries(woke).map(\.decision) == [.deviceChanged, .deviceWoke])
    }

    @Test func `The journal does not record a change of free space`() {
        var machine = Self.machine()
        _ = machine.begin(DeviceConditions(), now: Self.now(0))
        #expect(machine.changed(to: Self.conditions { $0.freeBytes = 9 }, now: Self.now(1)) == [])
        #expect(machine.conditions.freeBytes == nil)
    }

    @Test func `Apps can hold the device awake, and the journal names those apps`() {
        var machine = Self.machine()
        _ = machine.begin(Self.conditions { $0.power = .battery }, now: Self.now(0))
        var activity = DeviceStateMachine.Activity()
        activity.holders = [Self.holder("a", ["sync", "export"]), Self.holder("b", ["mail"])]
        let held = machine.changed(activity, now: Self.now(1))
        #expect(Self.entries(held).map(\.decision) == [.deviceHeldAwake])
        #expect(Self.entries(held).first?.detail == "a: sync, export; b: mail")
        #expect(Self.entries(held).first?.inputs == ["apps": "a b"])
        #expect(held.last == .holdAwake("a: sync, export; b: mail"))
        // The device state has not changed otherwise, so it is not announced.
        #expect(!held.contains(.announce))
        #expect(machine.changed(activity, now: Self.now(2)) == [])
        let released = machine.changed(DeviceStateMachine.Activity(), now: Self.now(3))
        #expect(Self.entries(released).map(\.decision) == [.deviceReleased])
        #expect(Self.entries(released).first?.detail == "a: sync, export; b: mail")
        #expect(released.last == .holdAwake(nil))
    }

    @Test func `The journal records doze with the inputs of its decision`() {
        var machine = Self.machine()
        _ = machine.begin(Self.leftAlone, now: Self.now(0))
        #expect(machine.nextDeadline == DozeMachine.quietTime)
        #expect(machine.tick(now: Self.now(60)) == [.readConditions(since: 60)])
        #expect(machine.tick(now: Self.now(60)) == [], "it has been asked")
        let dozes = machine.refreshed(Self.leftAlone, askedAt: 60, now: Self.now(60))
        let inputs = ["power": "battery", "idle": "yes", "held": "no"]
        let entry = JournalEntry(time: Self.now(60).date, decision: .dozeBegan, inputs: inputs)
        #expect(dozes == [.record([entry]), .announce])
        let windows = machine.tick(now: Self.now(960))
        #expect(Self.entries(windows).map(\.detail) == [WindowReason.maintenance.sentence])
        #expect(machine.moment.phase == .window)
    }

    @Test(arguments: [(0, 0, false, false), (1, 0, false, true), (0, 1, false, true), (0, 0, true, true)])
    func `A maintenance window stays open for wakes, apps and transfers`(
        wakes: Int, working: Int, transfers: Bool, staysOpen: Bool
    ) {
        var machine = Self.machine()
        _ = machine.begin(Self.leftAlone, now: Self.now(0))
        _ = machine.tick(now: Self.now(60))
        _ = machine.refreshed(Self.leftAlone, askedAt: 60, now: Self.now(60))
        _ = machine.tick(now: Self.now(960))
        var activity = DeviceStateMachine.Activity()
        activity.wakes = wakes
        activity.working = working
        activity.transfersWork = transfers
        _ = machine.changed(activity, now: Self.now(961))
        let end = Self.now(961 + DozeMachine.windowRest)
        _ = machine.tick(now: end)
        _ = machine.refreshed(Self.leftAlone, askedAt: end.bootSeconds, now: end)
        #expect((machine.moment.phase == .window) == staysOpen)
    }

    @Test func `The service notices and records unannounced use before doze begins`() {
        var machine = Self.machine()
        _ = machine.begin(Self.leftAlone, now: Self.now(0))
        _ = machine.tick(now: Self.now(60))
        var inUse = Self.leftAlone
        inUse.isIdle = false
        let found = machine.refreshed(inUse, askedAt: 60, now: Self.now(61))
        #expect(Self.entries(found).map(\.decision) == [.deviceChanged] && machine.moment.phase == .awake)
        // The device is idle again, which needs another decision and another reading.
        _ = machine.changed(to: Self.leftAlone, now: Self.now(70))
        #expect(machine.tick(now: Self.now(130)) == [.readConditions(since: 130)])
    }

    @Test func `A requested phase of doze begins, or is refused with a reason`() {
        var machine = Self.machine()
        _ = machine.begin(DeviceConditions(), now: Self.now(0))
        guard case .failure(let refusal) = machine.request(.dozing, now: Self.now(1)) else {
            Issue.record("It was not refused.")
            return
        }
        #expect(refusal.reason == .inUse)
        _ = machine.changed(to: Self.conditions { $0.isIdle = true }, now: Self.now(2))
        guard case .success(let actions) = machine.request(.dozing, now: Self.now(3)) else {
            Issue.record("It was refused.")
            return
        }
        #expect(Self.entries(actions).map(\.decision) == [.dozeBegan] && actions.last == .announce)
    }
}
