import NightshiftAPI
import Simulation
import Testing

/// R6: Tests of regions and significant changes under the virtual clock, with the service's own decisions over a track.
@Suite struct LocationTests {
    /// A device at the centre of the region `home`.
    private static let device =
        #""at": 0, "device": {"power": "battery", "battery": 80, "idle": false, "location": "52.5,13.4"}"#
    private static let allowed = #""at": 0, "app": "door", "location": {"permission": "always"}"#
    private static let home =
        #""at": 0, "app": "door", "region": {"identifier": "home", "center": "52.5,13.4", "radius": 150}"#
    /// The line for a move of a kilometre to the north. The device returns two hours later.
    private static let away = #""at": 3600, "device": {"location": "52.509,13.4"}"#
    private static let back = #""at": 10800, "device": {"location": "52.5,13.4"}"#
    private static let end = #""at": 18000, "end": true"#

    private static let story: Set<Decision> = [
        .regionAdded, .regionRemoved, .regionEntered, .regionLeft, .locationChanged, .locationPermission,
        .appWakeCompleted, .appWakeDropped, .appEnded,
    ]

    private func play(_ lines: String...) throws -> Play { try Play([Self.device] + lines + [Self.end]) }

    private func crossings(_ play: Play) -> [String] {
        play.story("door", of: [.regionEntered, .regionLeft]).map {
            $0.split(separator: " ").dropFirst().joined(separator: " ")
        }
    }

    @Test func `R6: Exit and entry of a region each wake its app, and the receiver is rarely on`()
        throws
    {
        let play = try play(Self.allowed, Self.home, Self.away, Self.back)
        #expect(crossings(play) == ["regionLeft home", "regionEntered home"])
        let (left, entered) = (
            try #require(play.times(.regionLeft).first), try #require(play.times(.regionEntered).first)
        )
        // The device was stationary before, so the plan queried the receiver rarely. A region event also has to last.
        #expect((3_620...4_300).contains(left) && (10_820...12_000).contains(entered))
        let wakes = play.story("door", of: [.appWakeCompleted])
        #expect(wakes.count == 2)
        let totals = try #require(play.totals.location)
        #expect(totals.left == 1 && totals.entered == 1 && totals.wakes == 2 && totals.changes == 0)
        #expect(totals.fixes > 4 && totals.receiverSeconds >= Double(totals.fixes) * 4)
        #expect(totals.receiverSeconds < 18_000 / 20)
    }

    @Test func `R6: The service monitors regions only while the user permits location`() throws {
        let silent = try play(Self.home, Self.away, Self.back)
        #expect(crossings(silent).isEmpty && silent.totals.location?.fixes == 0)
        let denied = #""at": 7200, "app": "door", "location": {"permission": "denied"}"#
        #expect(crossings(try play(Self.allowed, Self.home, Self.away, denied, Self.back)) == ["regionLeft home"])
        // The regions are stored, and monitored again once the user gives permission.
        let later = #""at": 600, "app": "door", "location": {"permission": "always"}"#
        #expect(crossings(try play(Self.home, later, Self.away, Self.back)).count == 2)
    }

    @Test func `R6: Removed regions, and unwanted kinds of region events, do not cause events`() throws {
        let removed = #""at": 7200, "app": "door", "region": {"identifier": "home", "remove": true}"#
        let play = try play(Self.allowed, Self.home, Self.away, removed, Self.back)
        #expect(crossings(play) == ["regionLeft home"] && play.times(.regionRemoved) == [7_200])
        let entry = Self.home.replacing(#""radius": 150"#, with: #""radius": 150, "exit": false"#)
        #expect(crossings(try self.play(Self.allowed, entry, Self.away, Self.back)) == ["regionEntered home"])
    }

    @Test func `R6: A short visit or absence does not cause a region event`() throws {
        let short = #""at": 10801, "device": {"location": "52.509,13.4"}"#
        let play = try play(Self.allowed, Self.home, Self.away, Self.back, short)
        #expect(crossings(play) == ["regionLeft home"])
    }

    @Test func `R7: An app first gets the current location, then changes at least five minutes apart`() throws {
        let changes = #""at": 60, "app": "door", "location": {"permission": "always", "changes": true}"#
        let next = #""at": 3700, "device": {"location": "52.52,13.4"}"#
        let play = try play(changes, Self.away, next, Self.back)
        let told = play.times(.locationChanged)
        #expect(told.count == 4)
        #expect(Array(told.suffix(3)) == [3_600, 3_900, 10_800] && (60..<90).contains(told[0]))
        #expect(play.totals.location?.changes == 4)
    }

    @Test func `R8: The service ends an app whose wake for a location lasts longer than about ten seconds`() throws {
        let slow = #""at": 0, "app": "door", "declare": {"located": 30}"#
        let play = try play(slow, Self.allowed, Self.home, Self.away)
        let left = try #require(play.times(.regionLeft).first)
        let ended = try #require(play.times(.appEnded).first)
        #expect((10...11).contains(ended - left))
        #expect(play.totals(of: "door")?.kills.map(\.cause) == [.locationOverdue])
    }

    @Test func `R6: After a force quit the app's regions are not monitored until the user starts the app`() throws {
        let front = #""at": 10, "app": "door", "use": "front""#
        let quit = #""at": 20, "app": "door", "use": "forceQuit""#
        let play = try play(Self.allowed, Self.home, front, quit, Self.away)
        #expect(crossings(play).isEmpty)
    }

    @Test func `B3: A repeated track gives the same events, even with added times without events`()
        throws
    {
        let text = try Play.sample("location")
        let once = try Play(text: text)
        #expect(try Play(text: text).outcome == once.outcome)
        #expect(once.totals.location?.left == 1 && once.totals.location?.entered == 1)
        #expect((once.totals.location?.changes ?? 0) > 3)
        let device = #""at": 0, "device": {"location": "52.5,13.4"}"#
        func lines(_ step: Int?) -> [String] {
            let extra =
                step.map { stride(from: $0, to: 18_000, by: $0).map { ($0, #""bytesPerSecond": 2500000"#) } } ?? []
            let track = [
                (3_600, #""device": {"location": "52.509,13.4"}"#), (10_800, #""device": {"location": "52.5,13.4"}"#),
            ]
            let sorted = (track + extra).enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
            return [device, Self.allowed, Self.home] + sorted.map { #""at": \#($0.element.0), \#($0.element.1)"# } + [
                Self.end
            ]
        }
        let plain = try Play(lines(nil)).outcome
        for step in [61, 1_800] { #expect(try Play(lines(step)).outcome == plain, "every \(step) s") }
    }

    @Test func `B3: The service queries a receiver without a location ever less often`() throws {
        let device = #""at": 0, "device": {"location": "none"}"#
        let play = try Play([device, Self.allowed, Self.home, Self.end])
        #expect(crossings(play).isEmpty)
        let fixes = try #require(play.totals.location?.fixes)
        #expect(fixes > 1 && fixes < 60)
    }

    @Test(
        arguments: [
            (#""at": 0, "region": {"identifier": "a", "center": "1,2", "radius": 3}"#, "needs 'app'"),
            (#""at": 0, "app": "a", "region": {"center": "1,2", "radius": 3}"#, "needs 'identifier'"),
            (#""at": 0, "app": "a", "region": {"identifier": "x", "radius": 3}"#, "needs a 'center'"),
            (#""at": 0, "app": "a", "region": {"identifier": "x", "center": "1,2"}"#, "a 'radius'"),
            (
                #""at": 0, "app": "a", "region": {"identifier": "x", "center": "91,2", "radius": 3}"#,
                "'center' must be a latitude"
            ),
            (#""at": 0, "app": "a", "region": {"identifier": "x", "center": "1,2,3", "radius": 3}"#, "'center' must"),
            (
                #""at": 0, "app": "a", "region": {"identifier": "x", "center": "1,2", "radius": -1}"#,
                "'radius' must be a number"
            ),
            (#""at": 0, "app": "a", "region": {"identifier": "x", "remove": true, "radius": 3}"#, "only 'identifier'"),
            (#""at": 0, "app": "a", "location": {}"#, "must contain at least one change"),
            (#""at": 0, "app": "a", "location": {"permission": "yes"}"#, "'permission' must be one of ask, denied"),
            (#""at": 0, "location": {"changes": true}"#, "needs 'app'"),
            (#""at": 0, "device": {"location": "91,0"}"#, "location must be latitude,longitude"),
        ])
    func `B3: The error for wrong location data lists the allowed values`(line: String, words: String) {
        #expect {
            try Play([Self.device, line])
        } throws: { error in
            guard let error = error as? TraceSyntaxError else { return false }
            return error.line == 2 && error.message.contains(words)
        }
    }
}
