import NightshiftAPI
import Testing

/// Tests of transfers under the virtual clock.
struct TransferTests {
    private let wifi =
        #""at": 0, "device": {"power": "battery", "battery": 80, "idle": false, "interface": "wifi"}, "bytesPerSecond": 1000"#

    @Test func `T3: Running transfers share the network equally`() throws {
        let play = try Play([
            wifi, #""at": 10, "transfer": {"bytes": 10000, "host": "a"}"#,
            #""at": 15, "transfer": {"bytes": 10000, "host": "b"}"#, #""at": 100, "end": true"#,
        ])
        // The first transfer runs 5 s alone and 10 s at half the speed. The rest of the second transfer runs alone
        // again.
        #expect(play.times(.completed, task: 1) == [25])
        #expect(play.times(.completed, task: 2) == [30])
        #expect(play.totals.networks == [NetworkTotals(kind: .wifi, isExpensive: false, bytes: 20_000)])
    }

    @Test func `T3: The seventh transfer of a host waits for one of its six connections`() throws {
        let play = try Play([
            wifi, #""at": 0, "transfer": {"bytes": 1000, "count": 7}"#, #""at": 100, "end": true"#,
        ])
        #expect(play.times(.started) == [0, 0, 0, 0, 0, 0, 6])
        #expect(play.waits(.connectionLimit) == WaitTotals(reason: .connectionLimit, transfers: 1, sum: 6, longest: 6))
    }

    @Test func `T3: A forbidden network makes a transfer wait and keep its bytes`() throws {
        let play = try Play([
            wifi, #""at": 0, "transfer": {"bytes": 10000, "cellular": false}"#,
            #""at": 4, "device": {"interface": "cellular", "expensive": true}"#,
            #""at": 50, "device": {"interface": "wifi", "expensive": false}"#, #""at": 100, "end": true"#,
        ])
        #expect(play.times(.held) == [4])
        #expect(play.entries(.held).map { $0.wait?.reason } == [.cellularNetwork])
        #expect(play.entries(.held).first?.inputs?["interface"] == "cellular")
        #expect(play.entries(.continued).map(\.detail) == ["From byte 4000."])
        #expect(play.times(.completed) == [56])
        #expect(
            play.waits(.cellularNetwork) == WaitTotals(reason: .cellularNetwork, transfers: 1, sum: 46, longest: 46))
        #expect(play.totals.transfers.interruptions == 1)
    }

    @Test func `T3: A transfer without an allowed network fails exactly at its resource timeout`() throws {
        let play = try Play([
            wifi, #""at": 0, "device": {"interface": "cellular"}"#,
            #""at": 0, "transfer": {"bytes": 10000, "cellular": false, "timeout": 500}"#, #""at": 1000, "end": true"#,
        ])
        #expect(play.times(.failed) == [500])
        #expect(play.entries(.failed).map { $0.error?.code } == [.timedOut])
        #expect(play.waits(.cellularNetwork)?.sum == 500)
    }

    @Test func `T3: A discretionary transfer relaxes its conditions at half and at 90 % of its time`() throws {
        let device =
            #""at": 0, "device": {"power": "battery", "battery": 30, "lowPower": true}, "bytesPerSecond": 1000"#
        let relaxed = try Play([
            device, #""at": 0, "transfer": {"bytes": 1000, "discretionary": true, "timeout": 1000}"#,
            #""at": 1000, "end": true"#,
        ])
        #expect(relaxed.times(.conditionsLoosened) == [500])
        #expect(relaxed.times(.started) == [500])
        let expensive = try Play([
            device, #""at": 0, "device": {"expensive": true}"#,
            #""at": 0, "transfer": {"bytes": 1000, "discretionary": true, "timeout": 1000}"#,
            #""at": 1000, "end": true"#,
        ])
        #expect(expensive.times(.conditionsLoosened) == [500, 900])
        #expect(expensive.times(.started) == [900])
        #expect(expensive.waits(.discretionary)?.sum == 900)
    }

    @Test func `L2: A discretionary transfer and an app's task share a window`() throws {
        let play = try Play([
            #""trace": {"policy": "opportunistic:600"}"#, wifi, #""at": 0, "app": "a", "use": "front""#,
            #""at": 10, "app": "a", "task": {"name": "sync", "seconds": 150}"#,
            #""at": 20, "app": "a", "use": "background""#, #""at": 20, "device": {"idle": true}"#,
            #""at": 20, "transfer": {"bytes": 100000, "discretionary": true}"#, #""at": 3000, "end": true"#,
        ])
        // Doze at 80 s stops both. The window at 980 s lets both continue, and both end in that window.
        #expect(play.times(.backgroundTimeStopped) == [80] && play.times(.held) == [80])
        #expect(play.times(.backgroundTimeResumed) == [980] && play.times(.continued) == [980])
        #expect(play.times(.backgroundTaskEnded) == [1_060])
        #expect(play.times(.completed) == [1_020])
        #expect(play.times(.windowOpened).first == 980)
        // The window closes when the app has finished its snapshot, ten seconds after the last end.
        #expect(play.times(.windowClosed).first == 1_070)
        #expect(play.totals.windows == [WindowCount(reason: .maintenance, count: 2)])
    }

    @Test func `T3: A transfer added in the background waits until good conditions or the foreground`() throws {
        let play = try Play([
            wifi, #""at": 0, "device": {"battery": 30}"#, #""at": 0, "app": "a", "use": "front""#,
            #""at": 10, "app": "a", "task": {"name": "sync", "seconds": 60}"#,
            #""at": 20, "app": "a", "use": "background""#,
            #""at": 30, "app": "a", "transfer": {"bytes": 1000}"#, #""at": 40, "app": "a", "use": "front""#,
            #""at": 200, "end": true"#,
        ])
        #expect(play.entries(.accepted).first?.inputs?["fromBackground"] == "yes")
        #expect(play.entries(.held).map { $0.wait?.reason } == [.discretionary])
        #expect(play.times(.conditionsLifted) == [40])
        #expect(play.times(.started) == [40])
    }

    @Test func `L6: The end of a session wakes its app, but during doze only in a window`() throws {
        let play = try Play([
            wifi, #""at": 0, "app": "a", "declare": {"wake": 3}"#, #""at": 0, "app": "a", "use": "front""#,
            #""at": 10, "app": "a", "transfer": {"bytes": 300000}"#, #""at": 20, "app": "a", "use": "background""#,
            #""at": 20, "device": {"idle": true}"#, #""at": 900, "end": true"#,
        ])
        #expect(play.times(.dozeBegan) == [80])
        #expect(play.times(.completed) == [310])
        #expect(play.times(.appWoken) == [310])
        #expect(play.times(.windowOpened) == [310])
        #expect(play.entries(.windowOpened).map(\.detail) == [WindowReason.appWoken.sentence])
        #expect(play.times(.appWakeCompleted) == [313])
        #expect(play.totals.wakeUps == 1)
    }

    @Test func `L6: A force quit cancels an app's transfers and prevents its wakes`() throws {
        let play = try Play([
            wifi, #""at": 0, "app": "a", "use": "front""#,
            #""at": 10, "app": "a", "transfer": {"bytes": 300000, "count": 2}"#,
            #""at": 20, "app": "a", "use": "forceQuit""#, #""at": 900, "end": true"#,
        ])
        // The service first asks the process to end, and cancels the transfers after the process has ended.
        let end = try #require(play.times(.appEnded).first)
        #expect(end >= 20 && play.times(.cancelled) == [end, end])
        #expect(play.times(.appWoken).isEmpty)
        #expect(play.totals.transfers.cancelled == 2)
    }
}
