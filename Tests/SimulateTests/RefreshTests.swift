import NightshiftAPI
import Simulation
import Testing

/// Tests of background refresh under the virtual clock, with the service's own decisions for invented apps.
@Suite struct RefreshTests {
    private static let device =
        #""at": 0, "device": {"power": "battery", "battery": 80, "idle": true, "interface": "wifi"}"#

    private static func feed(_ behaviour: String, _ more: [String], end: String = #""1d 00:00""#) throws -> Play {
        try Play(
            [device, #""at": 0, "app": "feed", "declare": {\#(behaviour)}"#] + more + [#""at": \#(end), "end": true"#])
    }

    private static let story: Set<Decision> = [
        .refreshChanged, .fetchBegan, .fetchEnded, .useBegan, .useEnded, .taskSubmitted, .taskBegan, .taskEnded,
        .appWakeCompleted, .appWakeDropped, .wakeExpiring, .appEnded,
    ]

    /// The lines of a morning: the device comes into use, which is a good time to fetch, and two minutes later the app
    /// is opened for a minute.
    private static let morning = [
        #""at": "07:00", "device": {"idle": false}"#, #""at": "07:02", "app": "feed", "use": "front""#,
        #""at": "07:03", "app": "feed", "use": "background""#,
    ]

    @Test func `R2: A fetch completes before the user opens the app, and is journalled as in the service`() throws {
        let play = try Self.feed(#""interval": "minimum", "fetch": 8"#, Self.morning, end: #""07:10""#)
        #expect(
            play.story("feed", of: Self.story) == [
                "0 refreshChanged The app has set its interval to minimum.", "25200 fetchBegan",
                "25208.5 appWakeCompleted fetch", "25208.5 fetchEnded", "25320 useBegan", "25380 useEnded",
            ])
        let ended = try #require(play.entries(.fetchEnded).first)
        #expect(ended.inputs == ["result": "newData", "seconds": "9", "bytes": "200000"])
        let totals = try #require(play.totals.refresh)
        #expect(totals.fetches == 1 && totals.newData == 1 && totals.savedWakes == 1 && totals.deviceWakes == 0)
        #expect(totals.openings == 1 && totals.freshOpenings == 1)
    }

    @Test(arguments: [(RefreshResult.newData, 1, 0, 0), (.noData, 0, 1, 0), (.failed, 0, 0, 1)])
    func `R2: The totals count the results of fetches`(result: RefreshResult, new: Int, none: Int, failed: Int) throws {
        let behaviour = #""interval": "minimum", "result": "\#(result.rawValue)""#
        let totals = try #require(
            try Self.feed(behaviour, Self.morning, end: #""07:10""#).totals.refresh)
        #expect((totals.newData, totals.noData, totals.failed) == (new, none, failed))
        #expect(totals.freshOpenings == (result == .failed ? 0 : 1))
    }

    @Test func `R2: An app with a slow fetch gets a warning, and is ended if the fetch takes 5 s more`()
        throws
    {
        let slow = #""interval": "minimum", "fetch": 40"#
        let obedient = try Self.feed(slow, Array(Self.morning.prefix(1)), end: #""07:10""#)
        #expect(obedient.times(.wakeExpiring) == [25_225.5])
        #expect(obedient.times(.fetchEnded) == [25_226])
        #expect(obedient.times(.appEnded).isEmpty)
        let stubborn = try Self.feed(
            slow + #", "endsTasks": false"#, Array(Self.morning.prefix(1)), end: #""07:10""#)
        #expect(stubborn.times(.wakeExpiring) == [25_225.5])
        #expect(stubborn.times(.appEnded) == [25_230.5])
        #expect(stubborn.totals(of: "feed")?.kills == [KillCount(cause: .fetchOverdue, count: 1)])
        for play in [obedient, stubborn] { #expect(play.totals.refresh?.failed == 1) }
    }

    @Test func `R2: The user's switch, a cap, an interval and a force quit prevent fetches`() throws {
        func count(_ more: [String], _ behaviour: String = #""interval": "minimum""#) throws -> Int {
            try Self.feed(behaviour, more).totals.refresh?.fetches ?? 0
        }
        #expect(try count([]) > 2)
        #expect(try count([#""at": 1, "refresh": {"on": false}"#]) == 0)
        #expect(try count([#""at": 1, "app": "feed", "refresh": {"on": false}"#]) == 0)
        #expect(try count([#""at": 1, "app": "feed", "refresh": {"dailyCap": 2}"#]) == 2)
        #expect(try count([#""at": 1, "app": "feed", "refresh": {"interval": "never"}"#]) == 0)
        #expect(try count([#""at": 1, "refresh": {"dailyEnergy": 0}"#]) == 0)
        #expect(try count([#""at": 1, "app": "feed", "use": "forceQuit""#]) == 0)
        #expect(try count([], #""interval": "never""#) == 0)
        let play = try Self.feed(#""interval": 18000"#, [])
        let begins = play.times(.fetchBegan)
        #expect(begins.count > 1 && zip(begins, begins.dropFirst()).allSatisfy { $1 - $0 >= 18_000 })
    }

    @Test func `R2: A submitted refresh task runs once, when due, and replaces classic fetches`()
        throws
    {
        let play = try Self.feed(
            #""interval": "minimum""#,
            [#""at": "08:00", "app": "feed", "submit": {"identifier": "feed.new", "kind": "refresh", "after": 7200}"#])
        #expect(play.times(.taskSubmitted) == [28_800])
        let began = play.times(.taskBegan)
        #expect(began.count == 1 && began.allSatisfy { $0 >= 36_000 })
        #expect(play.entries(.taskEnded).map { $0.inputs?["result"] } == ["newData"])
        #expect(play.times(.fetchBegan).isEmpty)
    }

    @Test func `R2: A processing task waits for its conditions, and ends when the user returns`() throws {
        let play = try Self.feed(
            #""processing": 600, "expiration": 2"#,
            [
                #""at": 60, "app": "feed", "submit": {"identifier": "feed.tidy", "kind": "processing", "power": true}"#,
                #""at": 3600, "device": {"power": "external"}"#, #""at": 3700, "device": {"idle": false}"#,
            ], end: "4000")
        #expect(
            play.story("feed", of: [.taskSubmitted, .taskBegan, .taskEnded]) == [
                "60 taskSubmitted feed.tidy", "3600 taskBegan feed.tidy",
                "3702 taskEnded feed.tidy: You are using the device again.",
            ])
        #expect(play.totals.refresh?.processing == 1 && play.totals.refresh?.processed == 0)
    }

    @Test func `B3: The totals mention refreshes only if apps refresh`() throws {
        let play = try Play([Self.device, #""at": 10, "app": "a", "use": "front""#, #""at": 99, "end": true"#])
        #expect(play.totals.refresh == nil)
        #expect(play.times(.useBegan) == [10])
    }

    @Test(
        arguments: [
            (#""at": 0, "app": "a", "declare": {"interval": "often"}"#, "'interval' must be never, minimum, or a"),
            (#""at": 0, "app": "a", "declare": {"result": "some"}"#, "'result' must be one of newData, noData, failed"),
            (#""at": 0, "app": "a", "declare": {"fetch": -1}"#, "'fetch' must be a number from 0"),
            (#""at": 0, "app": "a", "submit": {"kind": "refresh"}"#, "needs 'identifier'"),
            (#""at": 0, "app": "a", "submit": {"identifier": "x"}"#, "needs 'kind'"),
            (#""at": 0, "app": "a", "submit": {"identifier": "x", "kind": "continued"}"#, "one of refresh, processing"),
            (#""at": 0, "submit": {"identifier": "x", "kind": "refresh"}"#, "needs 'app'"),
            (
                #""at": 0, "app": "a", "submit": {"identifier": "x", "kind": "refresh", "power": true}"#,
                "only allowed for processing tasks"
            ),
            (#""at": 0, "refresh": {}"#, "must contain at least one change"),
            (#""at": 0, "refresh": {"dailyCap": 3}"#, "needs 'app'"),
            (#""at": 0, "app": "a", "refresh": {"dailyBytes": 3}"#, "leave 'app' out"),
            (#""at": 0, "app": "a", "refresh": {"dailyCap": 3.5}"#, "'dailyCap' must be an integer"),
        ])
    func `B3: The error for wrong refresh data lists the allowed values`(line: String, words: String) {
        #expect {
            try Play([Self.device, line])
        } throws: { error in
            guard let error = error as? TraceSyntaxError else { return false }
            return error.line == 2 && error.message.contains(words)
        }
    }

    @Test func `B3: A repeated week gives the same result, even with added times without events`() throws {
        func lines(every step: Int?) -> [String] {
            var lines: [(at: Int, text: String)] = [
                (0, #""app": "feed", "declare": {"interval": "minimum"}"#),
                (0, #""app": "mail", "declare": {"interval": 1800, "result": "noData"}"#),
            ]
            for day in 0..<5 {
                for (hour, app) in [(7, "feed"), (12, "mail"), (19, "feed"), (21, "mail")] {
                    let at = day * 86_400 + hour * 3_600
                    lines += [
                        (at, #""device": {"idle": false}"#), (at + 9, #""app": "\#(app)", "use": "front""#),
                        (at + 70, #""app": "\#(app)", "use": "background""#), (at + 75, #""device": {"idle": true}"#),
                    ]
                }
            }
            if let step {
                // The speed of the network does not change.
                for at in stride(from: step, to: 5 * 86_400, by: step) {
                    lines.append((at, #""bytesPerSecond": 2500000"#))
                }
            }
            let sorted = lines.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            return [Self.device] + sorted.map { #""at": \#($0.element.at), \#($0.element.text)"# }
                + [#""at": "5d 00:00", "end": true"#]
        }
        let once = try Play(lines(every: nil)).outcome
        #expect(once.totals.refresh?.fetches ?? 0 > 10)
        #expect(try Play(lines(every: nil)).outcome == once)
        for step in [61, 1_800] { #expect(try Play(lines(every: step)).outcome == once, "every \(step) s") }
    }
}
