import Foundation
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the rules that always hold for device states and their journal entries, with random days.
@Suite struct DeviceStateMachineWalkTests {
    /// The state of the device and of doze, according to the journal alone.
    private struct Reader {
        var values: [String: String] = [:]
        var phase = DozePhase.awake
        var isHeld = false
        var isAsleep = false

        /// Applies an entry, and returns an error if the entry is illegal.
        mutating func read(_ entry: JournalEntry) -> String? {
            let old = phase
            switch entry.decision {
            case .deviceChanged: values.merge(entry.inputs ?? [:]) { _, new in new }
            case .deviceSlept:
                guard !isAsleep else { return "It slept already." }
                isAsleep = true
            case .deviceWoke:
                guard isAsleep else { return "It did not sleep." }
                isAsleep = false
            case .deviceHeldAwake: isHeld = true
            case .deviceReleased:
                guard isHeld else { return "Nobody held it." }
                isHeld = false
            case .dozeBegan:
                guard old == .awake else { return "Doze begins from \(old)." }
                phase = .dozing
            case .windowOpened:
                guard old == .dozing else { return "A window opens from \(old)." }
                phase = .window
            case .windowClosed:
                guard old == .window else { return "A window closes from \(old)." }
                phase = .dozing
            case .dozeEnded:
                guard old != .awake else { return "Doze ends and is not there." }
                phase = .awake
            default: return "The device's journal has no \(entry.decision)."
            }
            return nil
        }
    }

    private static func act(
        _ machine: inout DeviceStateMachine, _ said: inout DeviceConditions, _ now: ClockReading,
        _ random: inout SplitMix64
    ) -> [DeviceStateMachine.Action] {
        switch Int.random(in: 0..<9, using: &random) {
        case 0: said.isIdle.toggle()
        case 1: said.power = Bool.random(using: &random) ? .battery : .external
        case 2:
            if Bool.random(using: &random) { said.isSleeping.toggle() } else { said.sleeps += 1 }
        case 3: said.network.isAvailable.toggle()
        case 4: said.freeBytes = Int64.random(in: 0...3, using: &random)
        case 5:
            var activity = DeviceStateMachine.Activity()
            if Int.random(in: 0..<3, using: &random) == 0 {
                let app = AppID(rawValue: Bool.random(using: &random) ? "a" : "b")
                activity.holders = [AwakeHolder(app: app, tasks: ["work"], since: now.date)]
            }
            activity.wakes = Int.random(in: 0..<5, using: &random) == 0 ? 1 : 0
            activity.transfersWork = Bool.random(using: &random)
            return machine.changed(activity, now: now)
        case 6:
            let phase = DozePhase.allCases.randomElement(using: &random) ?? .awake
            return (try? machine.request(phase, now: now).get()) ?? []
        default: return machine.tick(now: now)
        }
        return machine.changed(to: said, now: now)
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `Random days never lead to an illegal device state`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var machine = DeviceStateMachine(doze: DozeMachine.State(since: 1_000))
        var said = DeviceConditions()
        var reader = Reader()
        var time = 0.0
        var told = DeviceState()
        var holds: String?
        var question: Double?
        for step in 0..<400 {
            time += [0, 1, 9, 61, 400, 5_000][Int.random(in: 0..<6, using: &random)]
            let now = ClockReading(bootID: "boot", bootSeconds: time, wallSeconds: 1_000 + time)
            let before = machine.moment
            var actions =
                step == 0 ? machine.begin(said, now: now) : Self.act(&machine, &said, now, &random)
            // The reading arrives at once, or after the next event.
            for case .readConditions(let asked) in actions {
                question = asked
                #expect(machine.nextDeadline == nil, "seed \(seed)")
            }
            if let asked = question, Bool.random(using: &random) {
                question = nil
                let answered = machine.refreshed(said, askedAt: asked, now: now)
                for case .readConditions(let other) in answered { question = other }
                actions += answered
            }
            #expect(
                machine.doze.readingDue == nil || machine.doze.readingDue == question, "seed \(seed), step \(step)")
            for action in actions {
                switch action {
                case .record(let entries):
                    #expect(!entries.isEmpty, "seed \(seed)")
                    for entry in entries {
                        let mistake = reader.read(entry)
                        #expect(mistake == nil, "seed \(seed), step \(step)")
                        #expect(entry.time == now.date && entry.task == nil && entry.app == nil, "seed \(seed)")
                    }
                case .announce: told = machine.moment
                case .holdAwake(let reason): holds = reason
                case .readConditions: break
                }
            }
            // Every announced state is current, and the journal records every change.
            #expect(told == machine.moment, "seed \(seed), step \(step)")
            #expect(reader.isAsleep == machine.conditions.isSleeping, "seed \(seed), step \(step)")
            #expect(machine.moment == before || !actions.isEmpty, "seed \(seed)")
            #expect(reader.phase == machine.moment.phase, "seed \(seed)")
            for key in DeviceStateMachine.journalled {
                #expect(reader.values[key.rawValue] == machine.conditions[key], "seed \(seed), \(key)")
                #expect(machine.conditions[key] == said[key], "seed \(seed), \(key)")
            }
            // The sleep lock exists exactly while an app holds the device awake.
            #expect(
                (holds != nil) == !machine.holders.isEmpty && reader.isHeld == !machine.holders.isEmpty, "seed \(seed)")
        }
    }
}
