import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of rules that hold at every step, with a hundred hosts that send almost no bytes, and random healthy hosts.
@Suite struct PlacesWalkTests {
    private enum Kind: CaseIterable { case silent, drip, unresumableDrip, refused, healthy }

    private struct Job {
        var id: TaskID
        var host: Int
        var kind: Kind
        var arrivedAt: Double
        var startedAt: Double?
        var firstStart: Double?
        var notBefore = 0.0
        var pace = Pace(count: 0, at: 0)
        var bytes: Int64 = 0
        var lost: Int64 = 0
        var stops = 0
        /// The number of consecutive attempts without progress.
        var fruitless = 0

        var loss: Admission.Slowness.Loss {
            switch kind {
            case .drip: .nothing
            case .silent, .refused: .wait
            case .unresumableDrip, .healthy: bytes == 0 ? .wait : .bytes(bytes)
            }
        }
    }

    private struct World {
        var random: SplitMix64
        let maximum: Int
        var now = 0.0
        var jobs: [Job] = []
        var yields = YieldHistory()
        var done = 0
        var faults: Set<String> = []
        /// The time at which the pause of each refusing host ends. One transfer then probes the host.
        var pauses: [Int: Double] = [:]

        init(seed: UInt64, maximum: Int) {
            random = SplitMix64(seed: seed)
            self.maximum = maximum
        }

        mutating func add(host: Int, kind: Kind, count: Int) {
            for _ in 0..<count {
                jobs.append(Job(id: TaskID(Int64(jobs.count + done + 1)), host: host, kind: kind, arrivedAt: now))
            }
        }

        var lanes: [Admission.Lane] {
            Dictionary(grouping: jobs) { $0.host }.sorted { $0.key < $1.key }.map { host, mine in
                let waiting = mine.filter { $0.startedAt == nil && $0.notBefore <= now }.prefix(12)
                return Admission.Lane(
                    maximumConnections: 6,
                    running: mine.compactMap { job in
                        job.startedAt.map { start in
                            Admission.Running(
                                id: job.id, priority: 0.5, isLarge: false, startedAt: start, isResumable: false,
                                hasFailed: job.fruitless > 0,
                                slowness: job.pace.slowSince.map {
                                    var isOfBytes = false
                                    if case .bytes = job.loss { isOfBytes = true }
                                    return Admission.Slowness(
                                        since: $0, slice: yields.slice(of: job.id, losesBytes: isOfBytes),
                                        loss: job.loss)
                                })
                        }
                    },
                    small: waiting.map {
                        Admission.Candidate(
                            id: $0.id, priority: 0.5, isLarge: false, fruitless: $0.fruitless,
                            isLast: yields.isLast($0.id, at: now))
                    }, large: [],
                    allowance: pauses[host].map { $0 > now || mine.contains { $0.startedAt != nil } ? 0 : 1 } ?? .max,
                    origin: "host\(host)")
            }
        }

        /// Schedules transfers as the service does, until nothing changes.
        mutating func pump() {
            for _ in 0..<200 {
                let plan = Admission.plan(lanes: lanes, maximumTransfers: maximum, now: now)
                for index in jobs.indices where plan.start.contains(jobs[index].id) {
                    jobs[index].startedAt = now
                    jobs[index].firstStart = jobs[index].firstStart ?? now
                    jobs[index].pace = Pace(count: jobs[index].bytes, at: now)
                }
                for index in jobs.indices where plan.yield.contains(jobs[index].id) {
                    if jobs[index].kind != .drip {
                        jobs[index].lost += jobs[index].bytes
                        jobs[index].bytes = 0
                    }
                    jobs[index].stops += 1
                    jobs[index].startedAt = nil
                    jobs[index].notBefore = now + yields.yielded(jobs[index].id, at: now)
                }
                if plan.start.isEmpty, plan.yield.isEmpty { return }
                check()
            }
            faults.insert("starts and stops follow each other for ever")
        }

        private mutating func check() {
            let running = jobs.filter { $0.startedAt != nil }
            if running.count > maximum + ConnectionSlots.lent(of: maximum) { faults.insert("\(running.count) run") }
            let started = running.filter { $0.startedAt == now }.count
            if started > maximum { faults.insert("\(started) begin at once") }
            for (host, mine) in Dictionary(grouping: running, by: \.host) where mine.count > 6 {
                faults.insert("\(mine.count) run at host \(host)")
            }
        }

        mutating func second() {
            now += 1
            for index in jobs.indices {
                guard let start = jobs[index].startedAt else { continue }
                switch jobs[index].kind {
                case .silent: break
                case .drip, .unresumableDrip: jobs[index].bytes += 2
                case .refused: jobs[index].startedAt = nil
                case .healthy: jobs[index].bytes += 100_000
                }
                if jobs[index].kind == .refused { pauses[jobs[index].host] = now + 4 }
                if jobs[index].kind == .silent, now - start >= 60 {
                    jobs[index].startedAt = nil
                    jobs[index].fruitless += 1
                    jobs[index].notBefore = now + 5
                }
                _ = jobs[index].pace.read(jobs[index].bytes, at: now, minimum: Pace.leastRate)
            }
            done += jobs.count { $0.bytes >= 200_000 }
            jobs.removeAll { $0.bytes >= 200_000 }
            pump()
        }
    }

    @Test(arguments: 1...3)
    func `T2: The first task of a healthy host starts within 5 s beside 1,000 tasks of bad hosts`(
        _ seed: Int
    ) {
        var world = World(seed: UInt64(seed), maximum: 32)
        let bad = Kind.allCases.filter { $0 != .healthy }
        for host in 0..<100 {
            world.add(host: host, kind: bad.randomElement(using: &world.random) ?? .silent, count: 10)
        }
        var healthyHost = 1_000
        var healthy: [TaskID: Double] = [:]
        for second in 0..<100 {
            // The first task arrives together with all others.
            if second % 20 == 0 {
                healthyHost += 1
                let first = world.jobs.count + world.done
                world.add(host: healthyHost, kind: .healthy, count: 6)
                healthy[TaskID(Int64(first + 1))] = world.now
                world.pump()
            }
            world.second()
            for job in world.jobs where healthy[job.id] != nil && job.startedAt == nil {
                #expect(world.now - job.arrivedAt < 5, "seed \(seed): \(job.id) waits at \(world.now)")
            }
        }
        #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
        #expect(world.jobs.allSatisfy { $0.kind != .healthy || world.now - $0.arrivedAt < 30 })
        // While there are slots for all hosts, no transfer that cannot resume is stopped.
        #expect(world.jobs.allSatisfy { $0.lost == 0 })
    }

    @Test(arguments: 1...4) func `T2: Slow transfers and others take turns on few slots, and all of them complete`(
        _ seed: Int
    ) {
        var world = World(seed: UInt64(seed) + 50, maximum: 1 + seed)
        for host in 0..<10 { world.add(host: host, kind: host < 5 ? .silent : .unresumableDrip, count: 2) }
        for round in 0..<20 {
            world.add(host: 100 + round, kind: .healthy, count: 1)
            for _ in 0..<120 { world.second() }
        }
        for _ in 0..<700 { world.second() }
        #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
        #expect(world.done == 20, "seed \(seed): \(world.done) of 20")
        // Each slow transfer keeps its slot for longer each time.
        for job in world.jobs where job.kind == .unresumableDrip { #expect(job.stops <= 24) }
        #expect(world.jobs.allSatisfy { $0.kind == .healthy || $0.firstStart != nil })
    }
}
