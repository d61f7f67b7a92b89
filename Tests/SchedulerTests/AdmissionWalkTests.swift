import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the rules that hold for every plan, with random loads in steps.
@Suite struct AdmissionWalkTests {
    private struct Job {
        var id: TaskID
        var lane: Int
        var priority: Double
        var isLarge: Bool
        /// The remaining running time in seconds.
        var left: Double
        var waitsSince: Double
        var startedAt: Double?
        var isResumable: Bool
        var fruitless = 0

        var candidate: Admission.Candidate {
            Admission.Candidate(id: id, priority: priority, isLarge: isLarge, fruitless: fruitless)
        }
    }

    private struct World {
        var random: SplitMix64
        var jobs: [Job] = []
        var connections: [Int]
        var maximum: Int
        var now = 0.0
        var nextID: Int64 = 1

        init(seed: UInt64) {
            var random = SplitMix64(seed: seed)
            connections = (0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 1...6, using: &random) }
            maximum = Int.random(in: 1...5, using: &random)
            self.random = random
        }

        func lanes(_ allowances: [Int]) -> [Admission.Lane] {
            connections.indices.map { index in
                let mine = jobs.filter { $0.lane == index }
                let waiting = mine.filter { $0.startedAt == nil }.sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
                return Admission.Lane(
                    maximumConnections: connections[index],
                    running: mine.compactMap { job in
                        job.startedAt.map {
                            Admission.Running(
                                id: job.id, priority: job.priority, isLarge: job.isLarge, startedAt: $0,
                                isResumable: job.isResumable, hasFailed: job.fruitless > 0)
                        }
                    },
                    small: waiting.filter { !$0.isLarge }.map(\.candidate),
                    large: waiting.filter(\.isLarge).map(\.candidate), allowance: allowances[index])
            }
        }

        mutating func arrive() {
            jobs.append(
                Job(
                    id: TaskID(nextID), lane: connections.indices.randomElement(using: &random) ?? 0,
                    priority: [0.2, 0.5, 0.8].randomElement(using: &random) ?? 0.5,
                    isLarge: Bool.random(using: &random), left: Double.random(in: 0.5...60, using: &random),
                    waitsSince: now, isResumable: Int.random(in: 0..<4, using: &random) > 0,
                    fruitless: [0, 0, 1, 4].randomElement(using: &random) ?? 0))
            nextID += 1
        }
    }

    @Test(arguments: 1...12) func `Admission keeps its rules under random loads`(_ seed: Int) {
        var world = World(seed: UInt64(seed))
        for _ in 0..<120 {
            for _ in 0..<Int.random(in: 0...3, using: &world.random) { world.arrive() }
            let allowances = world.connections.map { _ in
                [0, 1, Int.max, Int.max].randomElement(using: &world.random) ?? 0
            }
            let lanes = world.lanes(allowances)
            let plan = Admission.plan(lanes: lanes, maximumTransfers: world.maximum, now: world.now)
            #expect(plan == Admission.plan(lanes: lanes, maximumTransfers: world.maximum, now: world.now))
            let faults = faults(plan, lanes, world, allowances)
            #expect(faults.isEmpty, "seed \(seed): \(faults) in \(plan) for \(lanes)")
            for id in plan.makeRoom {
                guard let index = world.jobs.firstIndex(where: { $0.id == id }) else { continue }
                world.jobs[index].startedAt = nil
            }
            for index in world.jobs.indices where plan.start.contains(world.jobs[index].id) {
                world.jobs[index].startedAt = world.now
            }
            pass(&world, Double.random(in: 0.1...5, using: &world.random))
        }
    }

    /// Returns the broken rules as text. Separate expectations would be too many.
    private func faults(
        _ plan: Admission.Plan, _ lanes: [Admission.Lane], _ world: World, _ allowances: [Int]
    ) -> Set<String> {
        var faults: Set<String> = []
        let started = Set(plan.start)
        let before = lanes.reduce(0) { $0 + $1.running.count }
        let after = before + started.count
        if !started.isEmpty, after > world.maximum { faults.insert("more than the service may") }
        if started.count != plan.start.count { faults.insert("one started twice") }
        let smallWaits = zip(lanes, allowances).contains { lane, allowance in
            allowance > 0 && lane.small.contains { !started.contains($0.id) }
        }
        let freshWaits = zip(lanes, allowances).contains { lane, allowance in
            allowance > 0 && (lane.small + lane.large).contains { $0.fruitless == 0 && !started.contains($0.id) }
        }
        for (lane, allowance) in zip(lanes, allowances) {
            let candidates = lane.small + lane.large
            let mine = candidates.filter { started.contains($0.id) }
            let waiting = candidates.filter { !started.contains($0.id) }
            if !mine.isEmpty, lane.running.count + mine.count > lane.maximumConnections {
                faults.insert("more than a lane may")
            }
            if mine.count > allowance { faults.insert("more than a host allows") }
            for one in mine {
                for other in waiting
                where other.isLarge == one.isLarge && (one.fruitless > 0) == (other.fruitless > 0)
                    && Self.order(one, isProbe: allowance == 1) > Self.order(other, isProbe: allowance == 1)
                {
                    faults.insert("\(other.id) was passed by \(one.id)")
                }
            }
            let isFull = lane.running.count + mine.count == lane.maximumConnections
            if isFull, lane.maximumConnections > 1, waiting.contains(where: { !$0.isLarge && $0.fruitless == 0 }),
                let last = plan.start.last(where: { id in mine.contains { $0.id == id } }),
                mine.contains(where: { $0.id == last && $0.isLarge })
            {
                faults.insert("a large one took the last connection")
            }
            let share = min(lane.maximumConnections, world.maximum) / 2
            let failed = lane.running.count(where: \.hasFailed) + mine.count { $0.fruitless > 0 }
            if waiting.contains(where: { $0.fruitless == 0 }), mine.contains(where: { $0.fruitless > 0 }),
                failed > share
            {
                faults.insert("\(failed) that have failed hold \(share) connections and more")
            }
            if allowance == 1, waiting.contains(where: { $0.fruitless == 0 && !$0.isLarge }),
                mine.contains(where: { $0.fruitless > 0 })
            {
                faults.insert("one that has failed probes")
            }
            faults.formUnion(unexplained(waiting, lane, mine, allowance, world, after, smallWaits, freshWaits))
        }
        for id in plan.makeRoom {
            let victim = lanes.flatMap(\.running).first { $0.id == id }
            if victim?.isLarge != true || victim?.isResumable != true { faults.insert("\(id) cannot make room") }
            if world.now - (victim?.startedAt ?? world.now) < Admission.slice { faults.insert("\(id) has no slice") }
        }
        if let look = plan.nextDeadline, look <= world.now { faults.insert("a look in the past") }
        return faults
    }

    /// Returns the sort key of a candidate. Two keys are comparable only if both candidates have failed, or neither
    /// has.
    private static func order(_ one: Admission.Candidate, isProbe: Bool) -> (Double, Double, TaskID) {
        isProbe
            ? (Double(one.fruitless), -one.priority, one.id) : (-one.priority, Double(one.fruitless), one.id)
    }

    /// Returns the candidates that could start but do not.
    private func unexplained(
        _ waiting: [Admission.Candidate], _ lane: Admission.Lane, _ started: [Admission.Candidate], _ allowance: Int,
        _ world: World, _ running: Int, _ smallWaits: Bool, _ freshWaits: Bool
    ) -> [String] {
        var lane = lane
        lane.allowance = allowance == .max ? .max : allowance - started.count
        lane.small.removeAll { started.contains($0) }
        lane.large.removeAll { started.contains($0) }
        lane.running += started.map {
            Admission.Running(
                id: $0.id, priority: $0.priority, isLarge: $0.isLarge, startedAt: world.now, isResumable: false,
                hasFailed: $0.fruitless > 0)
        }
        var places = ConnectionSlots(maximum: world.maximum)
        for _ in 0..<running { places.add(origin: nil) }
        return waiting.compactMap { candidate in
            let reason = Admission.reason(
                isLarge: candidate.isLarge, hasFailed: candidate.fruitless > 0, lane: lane, places: places,
                othersFirst: freshWaits)
            // The last slot of the service may be reserved for a small task of another queue.
            let isKept = candidate.isLarge && smallWaits && running == world.maximum - 1
            return reason == .starting && !isKept ? "\(candidate.id) could start" : nil
        }
    }

    private func pass(_ world: inout World, _ seconds: Double) {
        world.now += seconds
        for index in world.jobs.indices where world.jobs[index].startedAt != nil { world.jobs[index].left -= seconds }
        world.jobs.removeAll { $0.left <= 0 }
    }

    /// A test that a small transfer of equal priority begins within a slice and a time step, however many large
    /// transfers exist.
    @Test(arguments: 1...20) func `Large tasks do not starve small ones`(_ seed: Int) {
        var world = World(seed: UInt64(seed) &+ 500)
        let step = 0.5
        for round in 0..<400 {
            for lane in world.connections.indices {
                if world.jobs.count(where: { $0.lane == lane && $0.isLarge }) < 10 {
                    world.jobs.append(job(&world, lane, isLarge: true, seconds: 1_000))
                }
                if round % 40 == 20 { world.jobs.append(job(&world, lane, isLarge: false, seconds: 1)) }
            }
            let lanes = world.lanes(world.connections.map { _ in Int.max })
            let plan = Admission.plan(lanes: lanes, maximumTransfers: world.maximum, now: world.now)
            for index in world.jobs.indices {
                let id = world.jobs[index].id
                if plan.makeRoom.contains(id) { world.jobs[index].startedAt = nil }
                if plan.start.contains(id) { world.jobs[index].startedAt = world.now }
            }
            pass(&world, step)
            let waiting = world.jobs.filter { !$0.isLarge && $0.startedAt == nil }
            // If one slot serves all queues, the queues take turns.
            let bound = (Admission.slice + 2) * Double(world.connections.count) + 2 * step
            for job in waiting {
                #expect(
                    world.now - job.waitsSince <= bound,
                    "seed \(seed): \(job.id) waits for \(world.now - job.waitsSince) s")
            }
        }
    }

    private func job(_ world: inout World, _ lane: Int, isLarge: Bool, seconds: Double) -> Job {
        world.nextID += 1
        return Job(
            id: TaskID(world.nextID), lane: lane, priority: 0.5, isLarge: isLarge, left: seconds, waitsSince: world.now,
            startedAt: nil, isResumable: true)
    }
}
