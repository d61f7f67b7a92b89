import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the rules that always hold for doze, with random days of a device.
@Suite struct DozeWalkTests {
    private struct Walk {
        var random: SplitMix64
        var scene = DozeScene(from: 1_000)
        var isHeld = false
        var windowFrom: Double?

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
        }

        mutating func happen() {
            switch Int.random(in: 0..<11, using: &random) {
            case 0: scene.device { [idle = flip()] in $0.isIdle = idle }
            case 1: scene.device { [power = flip()] in $0.power = power ? .external : .battery }
            case 2: scene.device { $0.isSleeping.toggle() }
            case 3...4:
                isHeld = Int.random(in: 0..<4, using: &random) == 0
                let (busy, wakes) = (flip(), Int.random(in: 0..<5, using: &random) == 0)
                scene.activity(held: isHeld, busy: busy, wakes: wakes)
            case 5:
                let phase = DozePhase.allCases.randomElement(using: &random) ?? .awake
                _ = scene.request(phase)
            default: scene.wait(until: scene.time + [1, 9, 61, 400, 5_000][Int.random(in: 0..<5, using: &random)])
            }
        }

        private mutating func flip() -> Bool { Bool.random(using: &random) }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `L5: Random days never lead to an illegal state of doze`(seed: UInt64) {
        var walk = Walk(seed: seed)
        var phase = DozePhase.awake
        for _ in 0..<400 {
            walk.happen()
            let machine = walk.scene.machine
            let conditions = walk.scene.conditions
            for change in walk.scene.changes() {
                let next = Self.phase(after: change, from: phase)
                #expect(next != nil, "\(change) while \(phase), seed \(seed)")
                phase = next ?? machine.phase
            }
            #expect(phase == machine.phase, "seed \(seed)")
            // The device never dozes while it is in use on external power.
            #expect(machine.phase == .awake || conditions.power == .battery || conditions.isIdle, "seed \(seed)")
            // A deadline is always in the future.
            #expect(machine.nextDeadline ?? .infinity > walk.scene.time, "seed \(seed)")
            #expect((machine.awakeReason == nil) == (machine.phase != .awake), "seed \(seed)")
            #expect((machine.state.windowReason != nil) == (machine.phase == .window), "seed \(seed)")
            let longest = DozeMachine.longestWindow
            if machine.phase == .window, !walk.isHeld {
                #expect(machine.nextDeadline ?? .infinity <= walk.scene.time + longest, "seed \(seed)")
            }
        }
    }

    /// Returns the phase after a change, or nil if the change is not legal.
    private static func phase(after change: String, from phase: DozePhase) -> DozePhase? {
        switch (phase, change.split(separator: " ")[0]) {
        case (.awake, "doze"), (.window, "closed"): .dozing
        case (.dozing, "window:"): .window
        case (.dozing, "awake:"), (.window, "awake:"): .awake
        default: nil
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `L5: Two runs of the same random day end in the same state`(seed: UInt64) {
        var one = Walk(seed: seed)
        var other = Walk(seed: seed)
        for _ in 0..<300 {
            one.happen()
            other.happen()
        }
        #expect(one.scene.machine.state == other.scene.machine.state)
        #expect(one.scene.changes() == other.scene.changes())
    }
}
