import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R6: Tests of crossings of a region's boundary.
@Suite struct RegionMachineTests {
    private let around: Surroundings

    init() throws { around = try Surroundings() }

    /// Passes fixes with these distances in metres east of the centre, ten seconds apart, and returns the crossing at
    /// each fix.
    private func crossings(
        of machine: inout RegionMachine, _ metres: [Double], accuracy: Double = 5, every seconds: Double = 10,
        from start: Double = 0
    ) throws -> [RegionMachine.Crossing?] {
        try metres.enumerated().map {
            machine.moved(to: try around.fix($1, accuracy: accuracy, at: start + Double($0) * seconds))
        }
    }

    @Test func `R6: The first known side of a boundary is not a crossing`() throws {
        for (metres, state) in [(0.0, RegionState.inside), (500, .outside)] {
            var machine = RegionMachine(try around.region())
            #expect(machine.state == .unknown)
            #expect(try crossings(of: &machine, [metres, metres, metres, metres]) == [nil, nil, nil, nil])
            #expect(machine.state == state)
        }
    }

    @Test func `R6: A device has crossed a boundary after twenty seconds on the other side`() throws {
        var machine = RegionMachine(try around.region())
        #expect(
            try crossings(of: &machine, [300, 50, 50, 50, 50, 300, 300, 300, 300]) == [
                nil, nil, nil, .entered, nil, nil, nil, .left, nil,
            ])
    }

    @Test func `R6: The machine requests the fix that confirms a crossing`() throws {
        var machine = RegionMachine(try around.region())
        _ = try crossings(of: &machine, [300, 300])
        #expect(machine.confirmation == nil)
        _ = machine.moved(to: try around.fix(0, at: 100))
        #expect(machine.confirmation == 120)
        #expect(machine.moved(to: try around.fix(0, at: 119.9)) == nil)
        #expect(machine.moved(to: try around.fix(0, at: 120)) == .entered)
        #expect(machine.confirmation == nil)
    }

    @Test func `R6: A device that turns round at the boundary does not cause a crossing`() throws {
        var machine = RegionMachine(try around.region())
        #expect(
            try crossings(of: &machine, [300, 50, 300, 50, 50, 300, 300]) == Array(repeating: nil, count: 7))
        #expect(machine.state == .outside)
    }

    @Test func `R6: A fix that is too coarse does not change the state of a region`() throws {
        var machine = RegionMachine(try around.region())
        _ = try crossings(of: &machine, [300])
        // With these fixes the device may be inside or outside.
        #expect(try crossings(of: &machine, [0, 0, 0, 0], accuracy: 150, from: 10) == [nil, nil, nil, nil])
        #expect(machine.state == .outside && machine.confirmation == nil)
        // A coarse fix in between does not interrupt the wait.
        #expect(machine.moved(to: try around.fix(0, at: 100)) == nil)
        #expect(machine.moved(to: try around.fix(0, accuracy: 400, at: 110)) == nil)
        #expect(machine.moved(to: try around.fix(0, at: 120)) == .entered)
    }

    @Test func `R6: A device crosses a boundary only at a minimum distance from the boundary`() throws {
        var machine = RegionMachine(try around.region(radius: 200))
        _ = try crossings(of: &machine, [400])
        // The device is certainly inside the boundary, but not 20 m inside.
        #expect(try crossings(of: &machine, [190, 190, 190, 190], from: 10) == [nil, nil, nil, nil])
        #expect(try crossings(of: &machine, [170, 170, 170], from: 100) == [nil, nil, .entered])
        #expect(try crossings(of: &machine, [210, 210, 210, 210], from: 200) == [nil, nil, nil, nil])
        #expect(try crossings(of: &machine, [230, 230, 230], from: 300) == [nil, nil, .left])
    }

    @Test func `R6: Every device is outside a region that has no extent`() throws {
        var machine = RegionMachine(try around.region(radius: 0))
        #expect(try crossings(of: &machine, [0, 0, 0, 300, 300, 300, 0, 0, 0]) == Array(repeating: nil, count: 9))
        #expect(machine.state == .outside)
    }

    @Test func `R6: The machine ignores fixes that arrive late`() throws {
        var machine = RegionMachine(try around.region())
        _ = try crossings(of: &machine, [300, 0], from: 100)
        #expect(machine.moved(to: try around.fix(0, at: 50)) == nil)
        #expect(machine.moved(to: try around.fix(300, at: 60)) == nil)
        #expect(machine.moved(to: try around.fix(0, at: 130)) == .entered)
    }

    @Test func `R6: A crossing that the machine missed before a restart is reported once`() throws {
        var machine = RegionMachine(try around.region())
        _ = try crossings(of: &machine, [0], from: 1_000_000)
        machine = try JSON.decode(RegionMachine.self, from: try JSON.encode(machine))
        machine.restarted()
        #expect(try crossings(of: &machine, [300, 300, 300, 300]) == [nil, nil, .left, nil])
    }

    @Test(arguments: [(0.0, 179.9999), (89.999, 30), (-89.9995, -170), (0, -180), (52.5, 13.4)])
    func `R6: Regions at the antimeridian and the poles are crossed like all others`(
        _ latitude: Double, _ longitude: Double
    ) throws {
        let around = try Surroundings(latitude: latitude, longitude: longitude)
        var machine = RegionMachine(try around.region())
        var seen: [RegionMachine.Crossing?] = []
        for (index, metres) in [300.0, 300, 0, 0, 0, 300, 300, 300].enumerated() {
            // The moves go north, because metres east of a pole do not exist.
            let north = latitude > 80 ? -metres : metres
            seen.append(machine.moved(to: try around.fix(0, north, at: Double(index) * 10)))
        }
        #expect(seen == [nil, nil, nil, nil, .entered, nil, nil, .left])
    }

    /// A test with jittered walks around a block and realistic fixes. Each true crossing causes one event, and there
    /// are no others.
    @Test(arguments: UInt64(1)...40)
    func `R6: Each true crossing causes exactly one event`(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let radius = Double.random(in: 60...400, using: &random)
        var machine = RegionMachine(try around.region(radius: radius))
        var (east, north) = (
            Double.random(in: -600...600, using: &random), Double.random(in: -600...600, using: &random)
        )
        var (goalEast, goalNorth) = (east, north)
        var truth: [(side: RegionState, since: Double)] = []
        var told: RegionState?
        // The time since which the device has been so far from the boundary that every fix shows its side.
        var clearSince: Double?
        var clearSides: [RegionState] = []
        var count = 0
        for step in 0..<4_000 {
            let time = Double(step)
            let way = max(
                0.1, ((goalEast - east) * (goalEast - east) + (goalNorth - north) * (goalNorth - north)).squareRoot())
            if way < 3 {
                goalEast = Double.random(in: -600...600, using: &random)
                goalNorth = Double.random(in: -600...600, using: &random)
            } else {
                east += (goalEast - east) / way * 2
                north += (goalNorth - north) / way * 2
            }
            let away = (east * east + north * north).squareRoot()
            let side: RegionState = away < radius ? .inside : .outside
            if truth.last?.side != side { truth.append((side, time)) }
            let accuracy = Double.random(in: 3...40, using: &random)
            let error = Double.random(in: 0...accuracy / 2.squareRoot(), using: &random)
            let crossing = machine.moved(
                to: try around.fix(
                    east + (Bool.random(using: &random) ? error : -error),
                    north + (Bool.random(using: &random) ? error : -error), accuracy: accuracy * 1.42, at: time))
            let isClear = abs(away - radius) > RegionMachine.margin(ofRadius: radius) + 2 * 40 * 1.42
            clearSince = isClear ? clearSince ?? time : nil
            if let clearSince, time - clearSince > RegionMachine.dwell {
                if machine.state != side { Issue.record("not told by \(time): it is \(side)") }
                if clearSides.last != side { clearSides.append(side) }
            }
            if crossing != nil { count += 1 }
            guard let crossing else {
                if told == nil, machine.state != .unknown { told = machine.state }
                continue
            }
            let state: RegionState = crossing == .entered ? .inside : .outside
            #expect(state != told, "told twice at \(time)")
            told = state
            // The event is true: the device is on that side, and has been there for at least twenty seconds.
            let now = try #require(truth.last)
            #expect(now.side == state && time - now.since >= RegionMachine.dwell, "at \(time): \(crossing)")
        }
        #expect(truth.count > 1)
        // Every lasting crossing was reported, and no other.
        #expect(count >= clearSides.count - 1 && count < truth.count)
    }

    @Test func `R6: The probable location decides the side if a region is too small for the receiver`() throws {
        var machine = RegionMachine(try around.region(radius: 50))
        func moved(_ east: [Double], from start: Double) throws -> [RegionMachine.Crossing?] {
            try east.enumerated().map { index, east in
                machine.moved(
                    to: try around.fix(east, accuracy: 60, at: start + Double(index) * 15), finest: 60)
            }
        }
        #expect(try moved([300, 20, 20, 20], from: 0) == [nil, nil, nil, .entered])
        // The first locations are within the receiver's error. The later ones are farther outside than that error.
        #expect(try moved([40, 60, 40, 70], from: 100) == [nil, nil, nil, nil])
        #expect(try moved([90, 90, 90], from: 200) == [nil, nil, .left])
        #expect(!machine.isTooSmall(for: 75) && machine.isTooSmall(for: 76))
        // For a more accurate receiver, only a certain crossing counts.
        var certain = RegionMachine(try around.region(radius: 50))
        for time in [0.0, 30, 60] { _ = certain.moved(to: try around.fix(0, accuracy: 60, at: time), finest: 8) }
        #expect(certain.state == .unknown)
    }

    @Test(arguments: [(0.0, 1.0), (10, 3.75), (20, 7.5), (50, 10), (150, 15), (1_000, 50)])
    func `R6: The wanted accuracy near a boundary follows from the size of the region`(radius: Double, accuracy: Double)
        throws
    {
        #expect(RegionMachine(try around.region(radius: radius)).wantedAccuracy == accuracy)
    }

    @Test func `R6: A fix coarser than the region never causes an entry, and an exit only far away`()
        throws
    {
        var machine = RegionMachine(try around.region())
        _ = try crossings(of: &machine, [300, 0, 0, 0])
        #expect(machine.state == .inside)
        #expect(try crossings(of: &machine, [240, 240, 240, 240], accuracy: 150, from: 100) == [nil, nil, nil, nil])
        #expect(try crossings(of: &machine, [300, 300, 300], accuracy: 150, from: 200) == [nil, nil, .left])
        #expect(try crossings(of: &machine, [0, 0, 0, 0], accuracy: 100, from: 300) == [nil, nil, nil, nil])
        #expect(machine.state == .outside)
    }
}
