import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the reason that a waiting task reports if several apply.
@Suite struct WaitOrderTests {
    private static let now = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_000)

    /// Every obstacle in the order in which they are reported, with a change that causes it.
    private static let obstacles: [(WaitOrder.Cause, @Sendable (inout WaitOrder.Facts, inout DeviceState) -> Void)] = [
        (.store(until: 101), { facts, _ in facts.storePausedUntil = 101 }),
        (.question, { facts, _ in facts.isAsked = true }),
        (.pause, { facts, _ in facts.notBefore = 100.5 }),
        (.beginDate(1_000.5), { facts, _ in facts.beginAt = 1_000.5 }),
        (.moment(.network), { _, moment in moment.conditions.network.isAvailable = false }),
        (.sleeping, { _, moment in moment.conditions.isSleeping = true }),
        (.trial(until: 90), { facts, _ in facts.trialUntil = 90 }),
        (.host, { facts, _ in facts.isHostPaused = true }),
    ]

    private static var free: WaitOrder.Facts {
        WaitOrder.Facts(needs: RequirementClass(rules: TransferRules(), isLoopback: false))
    }

    @Test func `A task without obstacles waits in the queue`() {
        #expect(WaitOrder.cause(Self.free, DeviceState(), Self.now) == .queue)
    }

    @Test func `A begin date that has passed does not block the task`() {
        var facts = Self.free
        facts.storePausedUntil = 100
        facts.notBefore = 100
        facts.beginAt = 1_000
        #expect(WaitOrder.cause(facts, DeviceState(), Self.now) == .queue)
    }

    @Test(arguments: 0..<256)
    func `A task with several obstacles reports the first one`(combination: Int) {
        var facts = Self.free
        var moment = DeviceState()
        let chosen = Self.obstacles.enumerated().filter { combination >> $0.offset & 1 == 1 }.map(\.element)
        for (_, apply) in chosen { apply(&facts, &moment) }
        #expect(WaitOrder.cause(facts, moment, Self.now) == chosen.first?.0 ?? .queue)
    }

    @Test(arguments: WaitReason.allCases)
    func `A task that the device state blocks reports the reason of the device state`(reason: WaitReason) {
        var facts = Self.free
        var moment = DeviceState()
        switch reason {
        case .doze:
            facts.needs.rules.discretion = .full
            moment.phase = .dozing
        case .discretionary:
            facts.needs.rules.discretion = .full
            moment.conditions.isLowPower = true
        case .externalPower:
            facts.needs.rules.requiresExternalPower = true
            moment.conditions.power = .battery
        default: return
        }
        #expect(WaitOrder.cause(facts, moment, Self.now) == .moment(reason))
    }
}
