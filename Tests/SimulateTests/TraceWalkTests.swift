import NightshiftAPI
import Simulation
import TestSupport
import Testing

/// Tests of properties that hold for every simulation, with random traces.
struct TraceWalkTests {
    /// Returns the lines for a day of four apps, some of which misbehave.
    private static func lines(seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
        let policy = pick(["contiguous:60", "opportunistic:30", "opportunistic:180", "contiguous"])
        var lines = [
            #""trace": {"policy": "\#(policy)"}"#,
            #""at": 0, "device": {"power": "battery", "battery": 70, "interface": "wifi"}, "bytesPerSecond": 20000"#,
        ]
        for name in ["a", "b", "c", "d"] {
            let (enter, wake) = (pick(["0.1", "4.9", "7"]), pick(["1", "29", "40"]))
            lines.append(
                #""at": 0, "app": "\#(name)", "declare": {"enterBackground": \#(enter), "wake": \#(wake), "#
                    + #""endsTasks": \#(pick(["true", "true", "false"]))}"#)
        }
        var time = 0.0
        for _ in 0..<150 {
            time += Double(Int.random(in: 0...600, using: &random)) / 2
            let app = #""app": "\#(pick(["a", "b", "c", "d"]))""#
            let truth = pick(["true", "false"])
            let what =
                switch Int.random(in: 0..<12, using: &random) {
                case 0...2: #"\#(app), "use": "\#(pick(["front", "background", "background", "quit"]))""#
                case 3: #"\#(app), "use": "\#(pick(["front", "forceQuit"]))""#
                case 4...5: #"\#(app), "task": {"name": "work", "seconds": \#(pick(["5", "50", "500"]))}"#
                case 6: #"\#(app), "transfer": {"bytes": \#(pick(["0", "90000", "30000000"])), "count": 3}"#
                case 7:
                    #"\#(app), "transfer": {"bytes": 400000, "discretionary": \#(truth), "cellular": false, "timeout": 20000}"#
                case 8: #""device": {"idle": \#(truth)}"#
                case 9: #""device": {"power": "\#(pick(["battery", "external"]))", "sleeping": false}"#
                case 10: #""device": {"interface": "\#(pick(["wifi", "cellular"]))", "network": \#(truth)}"#
                default:
                    pick([#""device": {"sleeping": true}"#, #""request": "\#(pick(["doze", "wake", "window"]))""#])
                }
            lines.append(#""at": \#(time), \#(what)"#)
        }
        return lines + [#""at": 60000, "end": true"#]
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `B3: A random walk contains only legal transitions`(seed: UInt64) throws {
        let play = try Play(Self.lines(seed: seed))
        let totals = play.totals
        let parts = totals.inUse + totals.awake + totals.dozing + totals.inWindows + totals.asleep
        #expect(abs(parts - 60_000) < 0.01, "seed \(seed)")
        var running: Set<TaskID> = []
        var network = (isThere: true, kind: "wifi")
        var told: [AppID: Double] = [:]
        var open: [AppID: Int] = [:]
        for entry in play.outcome.entries {
            let time = play.seconds(entry)
            switch entry.decision {
            case .started, .continued:
                guard let task = entry.task else { continue }
                #expect(running.insert(task).inserted, "\(task) runs already, seed \(seed)")
                #expect(network.isThere, "\(task) starts without a network, seed \(seed)")
            case .held, .completed, .failed, .cancelled:
                // When a whole class starts to wait, the entry names a task that was not running.
                if let task = entry.task { running.remove(task) }
            case .deviceChanged:
                if let value = entry.inputs?["network"] { network.isThere = value == "yes" }
                if let value = entry.inputs?["interface"] { network.kind = value }
            case .backgroundTimeExpiring: told[entry.app ?? AppID(rawValue: "")] = time
            case .backgroundTaskBegan: open[entry.app ?? AppID(rawValue: ""), default: 0] += 1
            case .backgroundTaskEnded:
                let app = entry.app ?? AppID(rawValue: "")
                open[app, default: 0] -= 1
                #expect(open[app, default: 0] >= 0, "seed \(seed)")
            case .appEnded:
                guard let app = entry.app else { continue }
                open[app] = 0
                // The service kills an app for an overdue task only if the warning came 5 s of awake time before.
                guard entry.detail?.hasPrefix(ExitCause.taskOverdue.sentence) == true else { continue }
                #expect(told[app].map { time - $0 >= 4.999 } == true, "seed \(seed)")
            default: continue
            }
        }
        #expect(totals.transfers.accepted >= totals.transfers.completed + totals.transfers.failed, "seed \(seed)")
        for app in totals.apps { #expect(app.held <= app.background + 0.001, "seed \(seed)") }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `B3: The same trace gives the same result twice`(seed: UInt64) throws {
        let lines = Self.lines(seed: seed)
        #expect(try Play(lines).outcome == (try Play(lines).outcome))
    }
}
