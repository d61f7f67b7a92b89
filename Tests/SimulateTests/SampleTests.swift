import Foundation
import NightshiftAPI
import Simulation
import TestSupport
import Testing

/// Tests of the sample traces, and of properties that hold for every trace.
struct SampleTests {
    static let samples = ["contiguous", "location", "opportunistic", "refresh", "watchdog", "week"]

    @Test(arguments: samples)
    func `B3: Each sample plays to its end with consistent totals`(name: String) throws {
        let play = try Play(text: try Play.sample(name))
        let totals = play.totals
        let length = totals.end.timeIntervalSince(totals.start)
        let parts = totals.inUse + totals.awake + totals.dozing + totals.inWindows + totals.asleep
        #expect(abs(parts - length) < 0.01)
        #expect(play.outcome.entries.map(\.id) == (1...Int64(play.outcome.entries.count)).map { $0 })
        #expect(zip(play.outcome.entries, play.outcome.entries.dropFirst()).allSatisfy { $0.time <= $1.time })
        #expect(play.times(.windowOpened).count == totals.windows.reduce(0) { $0 + $1.count })
        let transfers = totals.transfers
        #expect(play.entries(.completed).count == transfers.completed)
        #expect(transfers.completed + transfers.failed + transfers.cancelled <= transfers.accepted)
        for app in totals.apps { #expect(app.foreground + app.background <= length) }
        // Every journalled start of a task has a journalled end, unless its app was killed.
        let (began, ended) = (play.entries(.backgroundTaskBegan).count, play.entries(.backgroundTaskEnded).count)
        let killed = totals.apps.flatMap(\.kills).reduce(0) { $0 + $1.count }
        #expect(began - ended <= killed && began >= ended)
    }

    @Test func `B3: The week sample shows the cases that it is meant to show`() throws {
        let play = try Play(text: try Play.sample("week"))
        let totals = play.totals
        #expect(totals.end.timeIntervalSince(totals.start) == 7 * 86_400)
        #expect(totals.transfers.completed == totals.transfers.accepted)
        // The backup waits for the charger. Other discretionary transfers wait for Wi-Fi or a window.
        for reason in [WaitReason.externalPower, .cellularNetwork, .discretionary, .doze, .network] {
            #expect(play.waits(reason) != nil, "\(reason)")
        }
        let expensive = totals.networks.filter(\.isExpensive).reduce(0) { $0 + $1.bytes }
        let free = totals.networks.filter { !$0.isExpensive }.reduce(0) { $0 + $1.bytes }
        #expect(expensive * 10 < free)
        #expect(totals.dozing > totals.inWindows * 10)
    }

    @Test func `B3: A week of ten apps and thousands of transfers is played to its end`() throws {
        var random = SplitMix64(seed: 4)
        var lines: [(at: Int, text: String)] = []
        for step in 0..<2_000 {
            let time = step * 300 + Int.random(in: 0..<300, using: &random)
            let app = #""app": "app\#(Int.random(in: 0..<10, using: &random))""#
            let can = Bool.random(using: &random)
            switch step % 4 {
            case 0: lines.append((time, #"\#(app), "use": "\#(can ? "front" : "background")""#))
            case 1: lines.append((time, #""device": {"idle": \#(can)}"#))
            case 2:
                let bytes = Int.random(in: 1_000...40_000_000, using: &random)
                let transfer = #""bytes": \#(bytes), "count": 10, "host": "h\#(step % 7)", "discretionary": \#(can)"#
                lines.append((time, #"\#(app), "transfer": {\#(transfer)}"#))
            default: lines.append((time, #"\#(app), "task": {"name": "work", "seconds": \#(step % 90)}"#))
            }
        }
        let device = #""at": 0, "device": {"power": "battery", "battery": 90, "interface": "wifi"}"#
        let play = try Play([device] + lines.map { #""at": \#($0.at), \#($0.text)"# } + [#""at": 604800, "end": true"#])
        #expect(play.totals.transfers.accepted == 5_000)
        #expect(play.totals.transfers.completed == 5_000)
        #expect(play.totals.wakeUps > 20)
    }

    @Test func `B3: Two processes that run the same trace write the same bytes`() async throws {
        let text = try Play.sample("week")
        var outputs: [String] = []
        // Swift's hashing differs between processes. The first process gets a fixed hash seed, and the second a random
        // one.
        for seed in ["1", "2"] {
            var environment = ProcessInfo.processInfo.environment
            environment["SWIFT_DETERMINISTIC_HASHING"] = seed == "1" ? "1" : nil
            let run = try await ChildProcess.run(
                Programs.daemon, ["simulate", "-"], environment: environment, input: text, within: .seconds(120))
            #expect(run.code == 0, "\(run.errors)")
            outputs.append(run.output)
        }
        #expect(outputs[0] == outputs[1])
        let last = try #require(outputs[0].split(separator: "\n").last)
        guard case .totals(let totals) = try JSON.decode(SimulationRecord.self, from: Data(last.utf8)) else {
            Issue.record("The last line holds no totals: \(last)")
            return
        }
        #expect(totals == (try Play(text: text)).totals)
    }

    @Test(
        arguments: [
            (["simulate", "-"], #"{"at": 0, "use": "front"}"#, 2, "the trace, line 1: 'use' needs 'app'"),
            (["simulate", "/nonexistent/trace"], "", 1, "/nonexistent/trace cannot be read"),
            (["simulate", "-", "--policy", "lazy"], "", 64, "The policy must be contiguous"),
        ] as [([String], String, Int32, String)])
    func `B3: The program reports why it cannot run, and does not print a result`(
        arguments: [String], input: String, code: Int32, words: String
    ) async throws {
        let run = try await ChildProcess.run(Programs.daemon, arguments, input: input)
        #expect(run.code == code)
        #expect(run.errors.contains(words), "\(run.errors)")
        #expect(run.output.isEmpty)
    }
}
