import Foundation
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the requirement classes that the device state blocks, of the time since which each class is blocked, and of
/// the work that keeps a window open.
@Suite struct RequirementClassTests {
    private static let now = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_000)

    private static func needs(
        loopback: Bool = false, _ adjust: (inout TransferRules) -> Void = { _ in }
    ) -> RequirementClass {
        var rules = TransferRules()
        adjust(&rules)
        return RequirementClass(rules: rules, isLoopback: loopback)
    }

    private static func moment(_ phase: DozePhase = .awake, _ adjust: (inout DeviceConditions) -> Void = { _ in })
        -> DeviceState
    {
        var moment = DeviceState(phase: phase)
        adjust(&moment.conditions)
        return moment
    }

    @Test func `Only discretionary work that can run in a maintenance window keeps the window open`() {
        let full = Self.needs { $0.discretion = .full }
        let relaxed = Self.needs { $0.discretion = .relaxed }
        let powered = Self.needs {
            $0.discretion = .full
            $0.requiresExternalPower = true
        }
        let free = DeviceConditions()
        let battery = Self.moment { $0.power = .battery }.conditions
        let lowPower = Self.moment { $0.isLowPower = true }.conditions
        let offline = Self.moment { $0.network.isAvailable = false }.conditions
        #expect(!Self.needs().wantsWindow(free) && !Self.needs().worksInWindow)
        #expect(full.wantsWindow(free) && relaxed.wantsWindow(free) && full.worksInWindow && relaxed.worksInWindow)
        #expect(!full.wantsWindow(lowPower) && relaxed.wantsWindow(lowPower))
        #expect(powered.wantsWindow(free) && !powered.wantsWindow(battery))
        #expect(!full.wantsWindow(offline))
        #expect(Self.needs(loopback: true) { $0.discretion = .full }.wantsWindow(offline))
    }

    @Test func `Tasks with equal requirements share one entry if they are blocked from the start`() {
        let wifi = Self.needs { $0.allowsCellularAccess = false }
        let power = Self.needs { $0.requiresExternalPower = true }
        let moment = Self.moment {
            $0.network.kind = .cellular
            $0.network.name = "tower"
            $0.power = .battery
        }
        let held = RequirementClass.heldFromTheFirst([Self.needs(), wifi, nil, power, wifi], moment, Self.now)
        #expect(held.map(\.index) == [1, 3])
        #expect(held.map { $0.entry.wait?.reason } == [.cellularNetwork, .externalPower])
        #expect(held[0].entry.wait?.detail == "2 transfers. The network is 'tower'.")
        #expect(held[1].entry.wait?.detail == nil)
        #expect(held[0].entry.inputs == ["network": "yes", "interface": "cellular"])
        #expect(held.allSatisfy { $0.entry.decision == .held && $0.entry.time == Self.now.date })
        #expect(held.allSatisfy { $0.entry.wait?.since == Self.now.date })
    }

    @Test func `The journal does not name each task that a missing network blocks from the start`() {
        let offline = Self.moment { $0.network.isAvailable = false }
        #expect(RequirementClass.heldFromTheFirst([Self.needs(), Self.needs()], offline, Self.now).isEmpty)
        #expect(RequirementClass.heldFromTheFirst([], offline, Self.now).isEmpty)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `The blocked time of a class starts again when the reason changes`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let classes = [
            Self.needs(), Self.needs { $0.discretion = .full }, Self.needs { $0.requiresExternalPower = true },
            Self.needs(loopback: true) { $0.discretion = .relaxed },
        ]
        var held = RequirementClasses()
        var model: [RequirementClass: (reason: WaitReason, since: Double)] = [:]
        var now = Self.now
        for _ in 0..<200 {
            now.wallSeconds += Double(Int.random(in: 0...50, using: &random))
            let waiting = classes.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
            let moment = Self.moment(DozePhase.allCases.randomElement(using: &random) ?? .awake) {
                $0.power = Bool.random(using: &random) ? .battery : .external
                $0.network.isAvailable = Int.random(in: 0..<4, using: &random) > 0
            }
            held.update(waiting, moment, now)
            for needs in classes {
                let reason = waiting.contains(needs) ? needs.hold(moment) : nil
                if let reason {
                    if model[needs]?.reason != reason { model[needs] = (reason, now.wallSeconds) }
                } else {
                    model[needs] = nil
                }
                #expect(held.since(needs) == model[needs]?.since, "seed \(seed)")
            }
        }
    }
}
