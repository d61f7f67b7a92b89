import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// A fault is held against the right tasks, and the guilty one is found whichever others were under way.
@Suite struct StartTrialsTests {
    private func ids(_ numbers: ClosedRange<Int64>) -> [TaskID] { numbers.map { TaskID($0) } }

    @Test func anEndFromOutsideIsHeldAgainstNobody() {
        let (trials, findings) = StartTrials.examine(.init(fault: nil, underWay: ids(1...9)), known: [:])
        #expect(findings == .init())
        #expect(trials.suspects.isEmpty && trials.faults.isEmpty)
    }

    @Test func aTaskIsHeldAtItsSecondFaultAlone() {
        let first = StartTrials.examine(.init(fault: 5, underWay: [TaskID(3)]), known: [:])
        #expect(first.findings.held.isEmpty)
        #expect(first.findings.counted == [TaskID(3)])
        #expect(first.trials.suspects == [TaskID(3)])
        let second = StartTrials.examine(.init(fault: 5, underWay: [TaskID(3)]), known: [TaskID(3): 1, TaskID(4): 1])
        #expect(second.findings.held == [TaskID(3): 2])
        // The fault is explained.
        #expect(second.findings.cleared == [TaskID(4)])
        #expect(second.trials.suspects.isEmpty)
    }

    @Test func amongOthersItTakesFourFaults() {
        var known: [TaskID: Int] = [:]
        for round in 1...4 {
            let (trials, findings) = StartTrials.examine(.init(fault: 11, underWay: ids(1...2)), known: known)
            #expect(findings.held.isEmpty == (round < 4), "\(round)")
            #expect(trials.suspects.isEmpty == (round == 4))
            known = trials.faults
        }
    }

    @Test func theOneThatBeganLastIsTriedFirstAndTheOftenSeenBeforeIt() {
        let legacy = StartLog.Legacy(fault: 4, underWay: [TaskID(9), TaskID(2), TaskID(5)])
        let (trials, _) = StartTrials.examine(legacy, known: [TaskID(5): 1])
        #expect(trials.suspects == [TaskID(5), TaskID(9), TaskID(2)])
    }

    @Test func aTrialEndsWithItsTimeTheSoonerForAnAnswer() {
        var (trials, _) = StartTrials.examine(.init(fault: 4, underWay: ids(1...2)), known: [:])
        trials.begin(TaskID(1), now: 100)
        let early = trials.tick(now: 101.9)
        #expect(early == nil)
        #expect(trials.trial?.task == TaskID(1))
        trials.answered(TaskID(1), now: 100.5)
        #expect(trials.trial?.until == 100.75)
        // It makes room, so that the next one is alone.
        let tried = trials.tick(now: 100.75)
        #expect(tried == TaskID(1))
        #expect(trials.trial == nil)
        let interrupted = trials.ended(TaskID(1))
        #expect(!interrupted)
        // Its fault is remembered until an attempt has ended by itself.
        #expect(trials.faults[TaskID(1)] == 1)
        let (ended, again) = (trials.ended(TaskID(1)), trials.ended(TaskID(1)))
        #expect(ended && !again)
        #expect(trials.suspects == [TaskID(2)])
        trials.begin(TaskID(2), now: 200)
        // Nobody waits for the last one to make room.
        let last = trials.tick(now: 300)
        #expect(last == nil)
        #expect(trials.trial == nil)
    }

    @Test func timeThatADiskTakesIsNotThatOfTheTrial() {
        var (trials, _) = StartTrials.examine(.init(fault: 4, underWay: ids(1...2)), known: [:])
        trials.begin(TaskID(1), now: 100)
        trials.started(TaskID(1), now: 130)
        let early = trials.tick(now: 131.9)
        #expect(early == nil && trials.trial?.task == TaskID(1))
        trials.answered(TaskID(1), now: 131.5)
        // What was said before the answer gives it no more time than the answer leaves.
        trials.started(TaskID(1), now: 131.6)
        #expect(trials.trial?.until == 131.75)
    }

    /// A service that dies of one task a while after that one's start, and is killed from outside now and then.
    @Test(arguments: 0..<200) func theGuiltyOneIsFoundAndOnlyThatOne(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let count = Int64.random(in: 1...20, using: &random)
        let guilty = TaskID(Int64.random(in: 1...count, using: &random))
        // Seconds after its start; a trial of a first fault takes two.
        let fuse = Double.random(in: 0...6, using: &random)
        var known: [TaskID: Int] = [:]
        var held: Set<TaskID> = []
        var legacy = StartLog.Legacy()
        var faults = 0
        for _ in 0..<60 {
            let (examined, findings) = StartTrials.examine(legacy, known: known)
            var trials = examined
            // These are suspended.
            for task in held.union(findings.held.keys) { trials.removeSuspect(task) }
            known = trials.faults
            held.formUnion(findings.held.keys)
            let killedAt =
                Double.random(in: 0...1, using: &random) < 0.3 ? Double.random(in: 0...20, using: &random) : nil
            var (now, underWay, startedAt) = (0.0, [TaskID](), [TaskID: Double]())
            /// Whether the service lives until `end`.
            func lives(until end: Double) -> Bool {
                let bang = startedAt[guilty].map { $0 + fuse } ?? .infinity
                if let killedAt, killedAt <= min(bang, end) {
                    legacy = StartLog.Legacy(underWay: underWay)
                    return false
                }
                guard bang > end else {
                    legacy = StartLog.Legacy(fault: 5, underWay: underWay)
                    faults += 1
                    return false
                }
                now = end
                return true
            }
            func start(_ task: TaskID) {
                underWay.insert(task, at: 0)
                startedAt[task] = now
            }
            var isAlive = true
            while isAlive, let next = trials.suspects.first {
                start(next)
                trials.begin(next, now: now)
                isAlive = lives(until: trials.trial?.until ?? now)
                if isAlive, let tried = trials.tick(now: now) {
                    underWay.removeAll { $0 == tried }
                    startedAt[tried] = nil
                    _ = trials.ended(tried)
                }
            }
            guard isAlive else { continue }
            for task in (1...count).map({ TaskID($0) }) where startedAt[task] == nil && !held.contains(task) {
                start(task)
            }
            guard lives(until: 1_000) else { continue }
            break
        }
        #expect(held.isSubset(of: [guilty]), "seed \(seed)")
        #expect(held == [guilty], "seed \(seed): \(faults) faults")
        #expect(faults <= 4, "seed \(seed): \(faults) faults")
    }
}
