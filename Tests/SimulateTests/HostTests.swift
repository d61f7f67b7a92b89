import Foundation
import NightshiftAPI
import Simulation
import Testing

/// Tests of hosts that fail as a trace describes, and of the response of the service's own rules.
struct HostTests {
    private let wifi =
        #""at": 0, "device": {"power": "battery", "battery": 80, "idle": false, "interface": "wifi"}, "bytesPerSecond": 3000"#

    private func fails(_ at: Double, _ how: String, _ more: String = "") -> String {
        #""at": \#(at), "host": {"name": "h", "fails": "\#(how)"\#(more)}"#
    }

    @Test func `T4: All transfers to an unreachable host pause together, and one of them probes the host`() throws {
        let play = try Play([
            wifi, fails(5, "unreachable"), #""at": 10, "transfer": {"bytes": 1000, "count": 3, "host": "h"}"#,
            fails(15, "no"), #""at": 100, "end": true"#,
        ])
        // The transfers start together and fail in the same way. The pauses are 0.5, 1, 2 and 4 s, the mean of the
        // service's jitter.
        #expect(play.times(.held) == [10, 10, 10, 10.5, 11.5, 13.5])
        // The transfer with the fewest failures is the next probe.
        #expect(play.entries(.held).map { $0.task?.rawValue } == [1, 2, 3, 1, 2, 3])
        #expect(play.entries(.held).allSatisfy { $0.wait?.reason == .retry && $0.error?.code == .cannotConnect })
        #expect(
            play.entries(.held).map { $0.wait?.until.map { $0.timeIntervalSince1970 - play.start } } == [
                10.5, 10.5, 10.5, 11.5, 13.5, 17.5,
            ])
        // The probe succeeds, and so do all transfers that wait for it.
        #expect(play.times(.started) == [17.5, 17.5, 17.5])
        #expect(play.times(.completed) == [18.5, 18.5, 18.5])
        #expect(play.waits(.hostBackoff) != nil)
    }

    @Test func `T4: Retry-After delays the refused transfers, while new ones try the host one by one`() throws {
        let play = try Play([
            wifi, fails(0, "busy", #", "retryAfter": 120"#),
            #""at": 10, "transfer": {"bytes": 1000, "count": 2, "host": "h"}"#,
            #""at": 10, "transfer": {"bytes": 3000, "host": "well"}"#,
            #""at": 20, "transfer": {"bytes": 1000, "host": "h"}"#,
            #""at": 20.5, "transfer": {"bytes": 1000, "host": "h"}"#, fails(60, "no"), #""at": 200, "end": true"#,
        ])
        // The host might accept the third transfer, so that transfer tries. After its refusal all wait, at first for a
        // second.
        #expect(play.times(.held) == [10, 10, 20, 21])
        #expect(play.entries(.held).allSatisfy { $0.wait?.reason == .retryAfter })
        #expect(play.entries(.held).first?.error?.status == 503)
        #expect(play.times(.started, task: 3) == [10])
        for task in [1, 2] as [Int64] { #expect(play.times(.started, task: task) == [130]) }
        #expect(play.times(.started, task: 4) == [140] && play.times(.started, task: 5) == [141])
        #expect(play.waits(.hostBackoff) == WaitTotals(reason: .hostBackoff, transfers: 1, sum: 0.5, longest: 0.5))
    }

    @Test func `T4: A 503 without Retry-After delays only its own transfer`() throws {
        let play = try Play([
            wifi, fails(0, "busy"), #""at": 10, "transfer": {"bytes": 1000, "count": 2, "host": "h"}"#,
            fails(10.2, "no"), #""at": 200, "end": true"#,
        ])
        #expect(play.times(.held) == [10, 10])
        #expect(play.entries(.held).map { $0.wait?.reason } == [.retry, .retry])
        #expect(play.times(.started) == [10.5, 10.5])
    }

    @Test func `T4: A transfer whose connection breaks waits for a pause, but keeps its bytes`() throws {
        let play = try Play([
            wifi, #""at": 0, "transfer": {"bytes": 30000, "host": "h"}"#, fails(4, "lost"), #""at": 100, "end": true"#,
        ])
        #expect(play.times(.held) == [4])
        #expect(play.entries(.held).first?.error?.code == .connectionLost)
        #expect(play.times(.continued) == [4.5])
        #expect(play.entries(.continued).map(\.detail) == ["From byte 12000."])
        #expect(play.times(.completed) == [10.5])
    }

    @Test func `T4: A transfer of a file that the host does not have fails at once`() throws {
        let play = try Play([
            wifi, fails(0, "missing"), #""at": 10, "transfer": {"bytes": 1000, "host": "h"}"#,
            #""at": 20, "end": true"#,
        ])
        #expect(play.times(.failed) == [10])
        #expect(play.entries(.failed).first?.error?.code == .httpStatus)
        #expect(play.totals.transfers.failed == 1)
    }

    @Test func `T4: A change of network ends the pauses that the old network caused`() throws {
        let play = try Play([
            wifi, fails(0, "unreachable"), #""at": 10, "transfer": {"bytes": 1000, "host": "h"}"#, fails(20, "no"),
            #""at": 21, "device": {"networkName": "cafe"}"#, #""at": 100, "end": true"#,
        ])
        #expect(play.times(.held) == [10, 10.5, 11.5, 13.5, 17.5])
        #expect(play.times(.networkChanged) == [21])
        #expect(
            play.entries(.networkChanged).first?.inputs
                == [
                    "network": "yes", "interface": "wifi", "networkName": "cafe", "expensive": "no",
                    "constrained": "no",
                ])
        #expect(play.times(.started) == [21])
    }

    @Test func `B3: A simulation starts as the service does`() throws {
        let play = try Play([wifi, #""at": 10, "end": true"#])
        #expect(play.outcome.entries.map(\.decision) == [.deviceChanged, .serviceStarted])
        #expect(play.outcome.entries.first?.detail == "The conditions when the service started.")
        #expect(play.outcome.entries.first?.inputs?["interface"] == "wifi")
    }

    @Test(
        arguments: [
            (#"{"at": 0, "host": {"fails": "no"}}"#, "'host' needs 'name'"),
            (#"{"at": 0, "host": {"name": "", "fails": "no"}}"#, "'host' needs 'name'"),
            (#"{"at": 0, "host": {"name": "h"}}"#, "'host' needs 'fails'"),
            (#"{"at": 0, "host": {"name": "h", "fails": "slow"}}"#, "one of no, unreachable, busy, missing, lost"),
            (#"{"at": 0, "host": {"name": "h", "fails": "no", "retryAfter": 3}}"#, "only allowed together with"),
            (#"{"at": 0, "host": {"name": "h", "fails": "busy", "retryAfter": -1}}"#, "a number from 0 to 86400"),
            (#"{"at": 0, "host": {"name": "h", "fails": "no", "port": 1}}"#, "'host' has no key 'port'"),
            (#"{"at": 0, "app": "a", "host": {"name": "h", "fails": "no"}}"#, "leave 'app' out"),
            (#"{"at": 0, "request": "doze", "host": {"name": "h", "fails": "no"}}"#, "several events"),
        ])
    func `B3: The error for a wrong host line lists the allowed values`(line: String, words: String) {
        #expect {
            try Trace(parsing: line)
        } throws: { error in
            (error as? TraceSyntaxError)?.message.contains(words) == true
        }
    }

    @Test func `B3: The parser reads a host line`() throws {
        let trace = try Trace(
            parsing: [
                #"{"at": 1, "host": {"name": "h", "fails": "busy", "retryAfter": 30}}"#,
                #"{"at": 2, "host": {"name": "h", "fails": "busy"}}"#,
                #"{"at": 3, "host": {"name": "h", "fails": "no"}}"#,
            ].joined(separator: "\n"))
        #expect(trace.lines.map(\.host?.name) == ["h", "h", "h"])
        #expect(trace.lines.map(\.host?.failing) == [.busy(retryAfter: 30), .busy(retryAfter: nil), nil])
    }
}
