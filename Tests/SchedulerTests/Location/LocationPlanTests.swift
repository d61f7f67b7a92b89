import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R6: Tests of the plan that serves the regions of all apps with one receiver.
@Suite struct LocationPlanTests {
    private let around: Surroundings
    private let first = AppID(rawValue: "org.example.First")
    private let second = AppID(rawValue: "org.example.Second")

    init() throws { around = try Surroundings() }

    @Test func `R6: The receiver stays off while no region is monitored`() throws {
        var plan = LocationPlan()
        #expect(plan.due == nil)
        plan.add(try around.region(), for: first)
        #expect(plan.due != nil)
        plan.remove("home", of: first)
        #expect(plan.due == nil && plan.regions(of: first) == [])
    }

    @Test func `R6: Each app receives only the events that it requested for its own regions`() throws {
        var plan = LocationPlan()
        plan.add(try around.region("home"), for: first)
        var silent = try around.region("home")
        silent.notifiesOnEntry = false
        plan.add(silent, for: second)
        var events: [LocationPlan.Event] = []
        for (index, east) in [500.0, 0, 0, 0, 500, 500, 500].enumerated() {
            events += plan.moved(to: try around.fix(east, at: Double(index) * 10))
        }
        #expect(
            events.map { "\($0.app) \($0.crossing)" } == [
                "org.example.First entered", "org.example.First left", "org.example.Second left",
            ])
    }

    @Test func `R6: A new region around the device causes no event`() throws {
        var plan = LocationPlan()
        plan.add(try around.region("far", east: 5_000), for: first)
        _ = plan.moved(to: try around.fix(0, at: 0))
        plan.add(try around.region("home"), for: first)
        #expect(plan.state(of: "home", of: first) == .inside)
        #expect(plan.moved(to: try around.fix(0, at: 60)) == [])
        // A region elsewhere with the same identifier does not inherit the state of the old region.
        plan.add(try around.region("home", east: 5_000), for: first)
        #expect(plan.state(of: "home", of: first) == .outside)
        #expect(plan.regions(of: first).count == 2)
        // A region that is added again unchanged keeps its state.
        _ = plan.moved(to: try around.fix(5_000, at: 70))
        let before = plan
        plan.add(try around.region("home", east: 5_000), for: first)
        #expect(plan == before)
    }

    @Test func `R6: The next fix is later if the device is farther from every boundary`() throws {
        func pause(_ east: Double) throws -> Double {
            var plan = LocationPlan()
            plan.add(try around.region(), for: first)
            for time in [0.0, 30] { _ = plan.moved(to: try around.fix(east, at: time)) }
            return try #require(plan.due) - 30
        }
        let pauses = try [200.0, 1_000, 3_000, 100_000].map(pause)
        #expect(pauses == pauses.sorted() && pauses[0] < pauses[3])
        #expect(pauses.allSatisfy { (FixSchedule.shortest...FixSchedule.longest).contains($0) })
    }

    @Test func `R6: A fast device is located sooner than a slow one`() throws {
        func pause(_ speed: Double) throws -> Double {
            var plan = LocationPlan()
            plan.add(try around.region(), for: first)
            for step in 0..<4 {
                _ = plan.moved(to: try around.fix(6_000 - Double(step) * 60 * speed, at: Double(step) * 60))
            }
            return try #require(plan.due) - 180
        }
        #expect(try pause(20) < pause(1.4))
    }

    @Test func `R6: A plan that is read back after a reboot has lost only its location`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(), for: first)
        _ = plan.moved(to: try around.fix(0, at: 5_000))
        plan = try JSON.decode(LocationPlan.self, from: try JSON.encode(plan))
        plan.restarted()
        #expect(plan.last == nil && plan.state(of: "home", of: first) == .inside)
        #expect(plan.moved(to: try around.fix(0, at: 3)) == [])
    }

    @Test func `R6: A paused app is not monitored, and gets a missed region event after the pause`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(), for: first)
        _ = plan.moved(to: try around.fix(0, at: 0))
        plan.setPaused(true, first)
        #expect(plan.due == nil && plan.due(of: first) == nil && plan.accuracy(of: first) == nil)
        for time in [100.0, 130, 160] { #expect(plan.moved(to: try around.fix(500, at: time)) == []) }
        #expect(plan.state(of: "home", of: first) == .inside)
        plan = try JSON.decode(LocationPlan.self, from: try JSON.encode(plan))
        plan.setPaused(false, first)
        let events = try [200.0, 230].flatMap { plan.moved(to: try around.fix(500, at: $0)) }
        #expect(events.map(\.crossing) == [.left])
    }

    @Test func `R6: An old location does not set the state of an added region`() throws {
        var plan = LocationPlan()
        plan.add(try around.region("far", east: 5_000), for: first)
        _ = plan.moved(to: try around.fix(0, at: 0))
        plan.forgetPlace(before: 0)
        #expect(plan.last != nil)
        plan.forgetPlace(before: 940)
        plan.add(try around.region(), for: first)
        #expect(plan.last == nil && plan.state(of: "home", of: first) == .unknown)
        #expect(try #require(plan.due) <= 1_000)
    }

    @Test func `R6: An app near its boundary is located sooner, and needs a more accurate fix`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(), for: first)
        plan.add(try around.region(east: 50_000), for: second)
        #expect(plan.accuracy(of: first) == 10 && plan.due(of: second) == -.infinity)
        _ = plan.moved(to: try around.fix(200, at: 0))
        #expect(try #require(plan.due(of: first)) < (try #require(plan.due(of: second))))
        #expect(plan.due == plan.due(of: first))
        #expect(try #require(plan.accuracy(of: first)) < 50 && plan.accuracy(of: second) == 1_000)
    }

    @Test func `R6: The plan learns to request slightly less accuracy than the receiver can reach`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(radius: 150), for: first)
        let steady = 17.0
        func moved(_ time: Double) throws {
            let wanted = plan.accuracy(of: first)
            _ = plan.moved(to: try around.fix(170, accuracy: steady, at: time), wanted: wanted)
        }
        #expect(plan.accuracy(of: first) == 15)
        try moved(0)
        let learned = try #require(plan.accuracy(of: first))
        #expect(learned > steady && learned < 2 * steady)
        try moved(1_700)
        #expect(plan.accuracy(of: first) == learned)
        try moved(1_900)
        #expect(plan.accuracy(of: first) == 15, "it may be under the open sky by now")
        try moved(1_950)
        #expect(plan.accuracy(of: first) == learned)
        plan = try JSON.decode(LocationPlan.self, from: try JSON.encode(plan))
        plan.restarted()
        _ = plan.moved(to: try around.fix(170, accuracy: steady, at: 5))
        #expect(plan.accuracy(of: first) == 15, "another run of the machine")
    }

    @Test func `R6: The plan requests the same accuracy again after a fix that was far too coarse`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(radius: 150), for: first)
        _ = plan.moved(to: try around.fix(170, accuracy: 60, at: 0), wanted: 15)
        #expect(plan.accuracy(of: first) == 15)
    }

    @Test func `R6: The plan reports a region that is too small for the receiver's accuracy`() throws {
        var plan = LocationPlan()
        plan.add(try around.region("home", radius: 20), for: first)
        plan.add(try around.region("town", radius: 2_000), for: first)
        #expect(plan.accuracy(of: first) == 7.5 && plan.accuracyTooCoarse(for: "home", of: first) == nil)
        _ = plan.moved(to: try around.fix(1_990, accuracy: 60, at: 0), wanted: 7.5)
        #expect(plan.accuracyTooCoarse(for: "home", of: first) == 60)
        #expect(plan.accuracyTooCoarse(for: "town", of: first) == nil)
        #expect(try #require(plan.accuracy(of: first)) >= 50)
        _ = plan.moved(to: try around.fix(1_990, accuracy: 8, at: 60), wanted: 50)
        #expect(plan.accuracyTooCoarse(for: "home", of: first) == nil, "it can do better")
    }

    @Test func `R6: A fix that is too coarse does not keep the receiver on at the boundary`() throws {
        var plan = LocationPlan()
        plan.add(try around.region(), for: first)
        _ = plan.moved(to: try around.fix(300, at: 0))
        _ = plan.moved(to: try around.fix(0, at: 100))
        #expect(plan.due == 120)
        _ = plan.moved(to: try around.fix(80, accuracy: 60, at: 125))
        #expect(try #require(plan.due) >= 125 + FixSchedule.shortest)
        #expect(plan.moved(to: try around.fix(0, at: 150)).map(\.crossing) == [.entered])
    }
}
