import NightshiftAPI
import Testing

/// Tests of background tasks under the virtual clock, to the second.
struct BackgroundTimeTests {
    private let device = #""at": 0, "device": {"power": "battery", "battery": 80, "idle": false, "interface": "wifi"}"#
    private let app = #""app": "a""#

    /// Returns the lines for an app that leaves the foreground at second 100 with a task of 1000 s.
    private func lines(_ settings: String, _ behaviour: String = "{}", idleAt: Int? = nil) -> [String] {
        var lines = [
            #""trace": {\#(settings)}"#, device, #""at": 0, \#(app), "declare": \#(behaviour)"#,
            #""at": 10, \#(app), "use": "front""#, #""at": 90, \#(app), "task": {"name": "export", "seconds": 1000}"#,
            #""at": 100, \#(app), "use": "background""#,
        ]
        if let idleAt { lines.append(#""at": \#(idleAt), "device": {"idle": true}"#) }
        return lines
    }

    @Test(
        arguments: [
            (#""policy": "opportunistic:30""#, 125.0, 130.0), (#""policy": "opportunistic:180""#, 275, 280),
            (#""policy": "contiguous""#, 695, 700), (#""policy": "opportunistic:30", "lead": 12"#, 118, 130),
        ])
    func `L4: The expiration handler runs before the kill by the length of the warning time`(
        settings: String, told: Double, killed: Double
    ) throws {
        let play = try Play(lines(settings, #"{"endsTasks": false}"#) + [#""at": 2000, "end": true"#])
        #expect(play.times(.backgroundTimeExpiring) == [told])
        #expect(play.times(.appEnded) == [killed])
        #expect(play.totals(of: "a")?.kills == [KillCount(cause: .taskOverdue, count: 1)])
        #expect(play.totals(of: "a")?.background == killed - 100)
    }

    @Test func `L4: An app that ends its task in the expiration handler is suspended`() throws {
        let play = try Play(
            lines(#""policy": "opportunistic:30""#, #"{"expiration": 2}"#) + [#""at": 500, "end": true"#])
        #expect(
            play.story("a", of: [.backgroundTimeExpiring, .backgroundTaskEnded, .stintEnded, .appEntered, .appEnded])
                .suffix(4)
                == [
                    "125 backgroundTimeExpiring", "127 backgroundTaskEnded export",
                    "127.1 stintEnded The app had finished its work and was suspended.", "127.1 appEntered suspended",
                ])
        #expect(play.totals(of: "a")?.kills == [])
    }

    @Test func `L3: Under the contiguous policy the device stays awake until the work is done`() throws {
        let trace = lines(#""policy": "contiguous:3000""#, idleAt: 110) + [#""at": 3000, "end": true"#]
        let play = try Play(trace)
        #expect(play.times(.deviceHeldAwake) == [100])
        #expect(play.times(.deviceReleased) == [1_090])
        #expect(play.times(.backgroundTaskEnded) == [1_090])
        // Doze starts a minute after the app's work has ended.
        #expect(play.times(.dozeBegan) == [1_150])
        #expect(play.totals(of: "a")?.held == 990)
        #expect(play.times(.backgroundTimeStopped).isEmpty)
    }

    @Test func `L2: Under the opportunistic policy doze stops the time, and windows let it continue`() throws {
        let trace = lines(#""policy": "opportunistic:600""#, #"{"endsTasks": false}"#, idleAt: 110)
        let play = try Play(trace + [#""at": 9000, "end": true"#])
        #expect(play.times(.dozeBegan) == [170])
        // The app runs 70 s in the background before doze. The windows begin 15 minutes and then 30 minutes later, and
        // each lasts five minutes.
        #expect(play.times(.backgroundTimeStopped) == [170, 1_370])
        #expect(play.entries(.backgroundTimeStopped).map { $0.inputs?["left"] } == ["530", "230"])
        #expect(play.times(.backgroundTimeResumed) == [1_070, 3_170])
        #expect(play.entries(.backgroundTimeResumed).map { $0.inputs?["left"] } == ["530", "230"])
        // The app may use 225 s of the second window. The warning comes 5 s before its 600 s end.
        #expect(play.times(.backgroundTimeExpiring) == [3_395])
        #expect(play.times(.appEnded) == [3_400])
        #expect(play.totals(of: "a")?.background == 600)
        #expect(play.totals(of: "a")?.held == 0)
    }

    @Test func `L2: For one trace, one policy keeps the device awake and the other splits the work`() throws {
        let text = try Play.sample("opportunistic")
        let contiguous = try Play(text: text, policy: .contiguous)
        let opportunistic = try Play(text: text)
        #expect(contiguous.totals.apps.map(\.held).max() == 410)
        #expect(opportunistic.totals.apps.map(\.held).max() == 0)
        #expect(contiguous.times(.backgroundTaskEnded) == [1_010])
        #expect(opportunistic.times(.backgroundTaskEnded) == [3_710])
        #expect(opportunistic.totals.awake < contiguous.totals.awake)
    }

    @Test func `L4: didEnterBackground has five seconds, and session events have thirty`() throws {
        let play = try Play(text: try Play.sample("watchdog"))
        #expect(play.times(.appEnded, "org.example.Slow") == [175])
        #expect(play.totals(of: "org.example.Slow")?.kills == [KillCount(cause: .backgroundTimeout, count: 1)])
        let woken = play.times(.appWoken, "org.example.Lazy")
        #expect(woken.first == 225)
        #expect(play.times(.appEnded, "org.example.Lazy").first == 255)
        // The app is launched again after the pause that follows a crash, and the next pause is longer.
        #expect(Array(woken.prefix(3)) == [225, 256, 288])
        #expect(play.times(.backgroundTimeExpiring, "org.example.Endless") == [65])
        #expect(play.times(.appEnded, "org.example.Endless") == [70])
        #expect(play.times(.appEnded, "org.example.Prudent").isEmpty)
    }

    @Test func `L2: Sleep of the machine does not use up an app's background time`() throws {
        let trace = lines(#""policy": "opportunistic:30""#, #"{"endsTasks": false}"#)
        let play = try Play(
            trace + [
                #""at": 110, "device": {"sleeping": true}"#, #""at": 5110, "device": {"sleeping": false}"#,
                #""at": 6000, "end": true"#,
            ])
        #expect(play.times(.backgroundTimeExpiring) == [5_125])
        #expect(play.times(.appEnded) == [5_130])
        #expect(play.totals.asleep == 5_000)
        #expect(play.totals(of: "a")?.background == 30)
    }

    @Test func `L2: Work requested of a suspended app starts when the app next runs`() throws {
        let play = try Play([
            device, #""at": 10, \#(app), "use": "front""#, #""at": 20, \#(app), "use": "background""#,
            #""at": 50, \#(app), "task": {"name": "late", "seconds": 5}"#, #""at": 100, \#(app), "use": "front""#,
            #""at": 200, "end": true"#,
        ])
        #expect(play.times(.backgroundTaskBegan) == [100])
        #expect(play.times(.backgroundTaskEnded) == [105])
    }
}
