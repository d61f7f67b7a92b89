import NightshiftAPI
import TestSupport
import Transfers

/// A service with one task that crashes it, as ``StartTrials`` sees it.
struct FaultyService {
    let guilty: TaskID
    let count: Int64
    /// The seconds from the task's start, or from its server's response, to the crash.
    let fuse: Double
    private let isFuseOfAnswer: Bool
    private let killsAtRandom: Bool
    private(set) var held: Set<TaskID> = []
    private(set) var faults = 0
    private(set) var kills = 0
    /// The longest time in seconds that the other tasks waited in one run of the service.
    private(set) var longestWait: Double = 0
    private var known: [TaskID: Int] = [:]
    private var legacy = StartLog.Legacy()
    private var random: SplitMix64

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        count = Int64.random(in: 1...40, using: &random)
        guilty = TaskID(Int64.random(in: 1...count, using: &random))
        // The crash comes at once, within seconds, or within minutes.
        let longest = ([0, 6, 60, 390] as [Double]).randomElement(using: &random) ?? 0
        fuse = Double.random(in: 0...longest, using: &random)
        isFuseOfAnswer = Bool.random(using: &random)
        killsAtRandom = Int.random(in: 0..<3, using: &random) == 0
    }

    /// The number of times that the crash suspects can be halved until one is left, if they cannot be retried one by
    /// one.
    var halvings: Int {
        let windows = Double(count) * ((fuse + Life.slowestAnswer) * 1.5 + 2)
        guard windows > StartTrials.timeout else { return 0 }
        return Int64.bitWidth - (count - 1).leadingZeroBitCount
    }

    mutating func run() {
        for _ in 0..<200 {
            var life = Life(self)
            if life.isOver(&self) { return }
        }
    }

    /// One run of the service.
    private struct Life {
        static let slowestAnswer: Double = 5

        var now: Double = 0
        var trials: StartTrials
        var killedAt: Double = .infinity
        /// The running tasks, with the latest start first.
        var underWay: [(task: TaskID, since: Double, answer: Double)] = []

        init(_ service: FaultyService) {
            trials = StartTrials.examine(service.legacy, known: service.known).trials
        }

        /// Returns whether the service runs without further crashes.
        mutating func isOver(_ service: inout FaultyService) -> Bool {
            let (_, findings) = StartTrials.examine(service.legacy, known: service.known)
            service.held.formUnion(findings.held.keys)
            service.known = trials.faults
            for task in service.held { trials.removeSuspect(task) }
            if service.killsAtRandom, Int.random(in: 0..<4, using: &service.random) == 0 {
                killedAt = Double.random(in: 0...200, using: &service.random)
            }
            while !trials.crashSuspects.isEmpty {
                let group = trials.next(of: trials.crashSuspects)
                trials.begin(group, now: now)
                for task in group.reversed() { start(task, &service) }
                trials.started(now: now)
                while let next = nextAnswer() {
                    guard lives(until: next.at, &service) else { return false }
                    trials.answered(next.task, now: now)
                }
                guard lives(until: trials.trial?.until ?? now, &service) else { return false }
                for task in trials.tick(now: now) {
                    underWay.removeAll { $0.task == task }
                    _ = trials.ended(task, now: now)
                }
            }
            service.longestWait = max(service.longestWait, now)
            for number in 1...service.count {
                let task = TaskID(number)
                guard !service.held.contains(task), !underWay.contains(where: { $0.task == task }) else { continue }
                // The tasks start one after the other.
                guard lives(until: now + Double.random(in: 0...0.5, using: &service.random), &service) else {
                    return false
                }
                start(task, &service)
            }
            return lives(until: now + 5_000, &service)
        }

        private mutating func start(_ task: TaskID, _ service: inout FaultyService) {
            let answer = now + Double.random(in: 0...Self.slowestAnswer, using: &service.random)
            underWay.insert((task, now, answer), at: 0)
        }

        /// Returns the next response to a task in an isolated retry, if it comes before the end of that retry.
        private func nextAnswer() -> (task: TaskID, at: Double)? {
            guard let trial = trials.trial else { return nil }
            let open = underWay.filter { trial.tasks.contains($0.task) && $0.answer > now && $0.answer < trial.until }
            return open.min { $0.answer < $1.answer }.map { ($0.task, $0.answer) }
        }

        private mutating func lives(until end: Double, _ service: inout FaultyService) -> Bool {
            let own = underWay.first { $0.task == service.guilty }
            let lit = own.map { service.isFuseOfAnswer ? $0.answer : $0.since }
            let bang = lit.map { $0 + service.fuse } ?? .infinity
            guard min(bang, killedAt) <= end else {
                now = end
                return true
            }
            let isFault = bang < killedAt
            let attempts = underWay.map { attempt in
                StartLog.Attempt(
                    attempt.task, seconds: isFault ? bang - attempt.since : 0, faults: trials.faults[attempt.task] ?? 0)
            }
            service.legacy = StartLog.Legacy(fault: isFault ? 5 : nil, underWay: attempts)
            if isFault { service.faults += 1 } else { service.kills += 1 }
            return false
        }
    }
}
