import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of per-origin queues whose tasks have different device requirements. Only the first tasks of each allowed
/// class are known.
@Suite struct AdmissionClassTests {
    private struct Job {
        var candidate: Admission.Candidate
        var rules: TransferRules
        var startedAt: Double?
    }

    private static let classes: [TransferRules] = (0..<5).map { number in
        var rules = TransferRules()
        rules.discretion = [.none, .full, .relaxed][number % 3]
        rules.allowsExpensiveNetworkAccess = number != 3
        rules.requiresExternalPower = number == 4
        return rules
    }

    private static func moment(_ random: inout SplitMix64) -> DeviceState {
        var moment = DeviceState(phase: DozePhase.allCases.randomElement(using: &random) ?? .awake)
        moment.conditions.network.isExpensive = Int.random(in: 0..<3, using: &random) == 0
        moment.conditions.power = Bool.random(using: &random) ? .battery : .external
        moment.conditions.batteryPercentage = Double.random(in: 0...100, using: &random)
        return moment
    }

    /// Returns the merged first tasks of each allowed class, as the store does. Without a limit it returns all allowed
    /// tasks, for comparison.
    private static func queue(
        _ jobs: [Job], _ moment: DeviceState, isLarge: Bool, limit: Int?
    ) -> [Admission.Candidate] {
        let allowed = classes.filter { Permission.hold($0, moment, isLoopback: false) == nil }
        func sorted(_ rules: (TransferRules) -> Bool) -> [Admission.Candidate] {
            jobs.filter { $0.startedAt == nil && $0.candidate.isLarge == isLarge && rules($0.rules) }.map(\.candidate)
                .sorted { (-$0.priority, $0.id) < (-$1.priority, $1.id) }
        }
        guard let limit else { return sorted { allowed.contains($0) } }
        return Admission.merged(allowed.map { rules in Array(sorted { $0 == rules }.prefix(limit)) }, limit: limit)
    }

    private static func lane(_ jobs: [Job], _ moment: DeviceState, connections: Int, limit: Int?) -> Admission.Lane {
        Admission.Lane(
            maximumConnections: connections,
            running: jobs.compactMap { job in
                job.startedAt.map {
                    Admission.Running(
                        id: job.candidate.id, priority: job.candidate.priority, isLarge: job.candidate.isLarge,
                        startedAt: $0, isResumable: true)
                }
            },
            small: queue(jobs, moment, isLarge: false, limit: limit),
            large: queue(jobs, moment, isLarge: true, limit: limit), allowance: .max)
    }

    @Test(arguments: 1...20)
    func `Admission plans the same with the first tasks of each class as with all allowed tasks`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let connections = Int.random(in: 1...6, using: &random)
        let maximum = Int.random(in: 1...8, using: &random)
        var jobs: [Job] = []
        var nextID: Int64 = 1
        var starts = 0
        for step in 0..<150 {
            let now = Double(step) * 3
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                jobs.append(
                    Job(
                        candidate: Admission.Candidate(
                            id: TaskID(nextID), priority: [0.2, 0.5, 0.8].randomElement(using: &random) ?? 0.5,
                            isLarge: Bool.random(using: &random)),
                        rules: Self.classes.randomElement(using: &random) ?? TransferRules()))
                nextID += 1
            }
            let moment = Self.moment(&random)
            let lane = Self.lane(jobs, moment, connections: connections, limit: connections)
            let plan = Admission.plan(lanes: [lane], maximumTransfers: maximum, now: now)
            let whole = Self.lane(jobs, moment, connections: connections, limit: nil)
            #expect(plan == Admission.plan(lanes: [whole], maximumTransfers: maximum, now: now), "seed \(seed)")
            for index in jobs.indices {
                let id = jobs[index].candidate.id
                if plan.makeRoom.contains(id) { jobs[index].startedAt = nil }
                guard plan.start.contains(id) else { continue }
                #expect(Permission.hold(jobs[index].rules, moment, isLoopback: false) == nil, "seed \(seed)")
                jobs[index].startedAt = now
                starts += 1
            }
            // A running task may end at any time.
            jobs.removeAll { $0.startedAt != nil && Int.random(in: 0..<3, using: &random) == 0 }
        }
        #expect(starts > 20, "seed \(seed): \(starts)")
    }

    /// A test that tasks of each class get their turn by age, however many tasks another class has.
    @Test func `The tasks of a common class do not starve the tasks of a rare class`() {
        var jobs: [Job] = []
        var order: [TaskID] = []
        for step in 0..<200 {
            // Three tasks arrive at each step and two can run, so the queue grows. The common class alone could use
            // every place.
            for number in 0..<3 {
                jobs.append(
                    Job(
                        candidate: Admission.Candidate(
                            id: TaskID(Int64(step * 3 + number + 1)), priority: 0.5, isLarge: false),
                        rules: Self.classes[number == 2 ? 3 : 0]))
            }
            let lane = Self.lane(jobs, DeviceState(), connections: 2, limit: 2)
            let plan = Admission.plan(lanes: [lane], maximumTransfers: 32, now: Double(step))
            order += plan.start
            jobs.removeAll { plan.start.contains($0.candidate.id) }
        }
        #expect(order == (1...400).map { TaskID($0) })
    }

    @Test func `Merged queues are ordered by priority, then by age`() {
        func candidates(_ entries: (Int64, Double)...) -> [Admission.Candidate] {
            entries.map { Admission.Candidate(id: TaskID($0.0), priority: $0.1, isLarge: false) }
        }
        let merged = Admission.merged(
            [candidates((4, 0.9), (1, 0.5), (7, 0.5)), [], candidates((2, 0.9), (3, 0.5))], limit: 4)
        #expect(merged == candidates((2, 0.9), (4, 0.9), (1, 0.5), (3, 0.5)))
        #expect(Admission.merged([candidates((1, 0.5), (2, 0.5))], limit: 1) == candidates((1, 0.5)))
        #expect(Admission.merged([], limit: 3).isEmpty)
    }
}
