import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests that a crash counts against the right tasks, and that the service finds the task that causes crashes whatever
/// else was running.
@Suite struct StartTrialsTests {
    private func ids(_ numbers: ClosedRange<Int64>) -> [TaskID] { numbers.map { TaskID($0) } }

    /// Returns the isolated retries after a crash in which these tasks had run for this many seconds.
    private func afterFault(_ numbers: ClosedRange<Int64>, seconds: Double = 0, faults: Int = 0) -> StartTrials {
        let underWay = ids(numbers).map { StartLog.Attempt($0, seconds: seconds, faults: faults) }
        return StartTrials.examine(.init(fault: 4, underWay: underWay), known: [:]).trials
    }

    @Test func `A kill from outside does not count against any task`() {
        let underWay = ids(1...9).map { StartLog.Attempt($0) }
        let (trials, findings) = StartTrials.examine(.init(fault: nil, underWay: underWay), known: [:])
        #expect(findings == .init())
        #expect(trials.crashSuspects.isEmpty && trials.faults.isEmpty)
    }

    @Test func `A task that runs alone is suspended after its second crash`() {
        let first = StartTrials.examine(.init(fault: 5, underWay: [.init(TaskID(3))]), known: [:])
        #expect(first.findings.held.isEmpty)
        #expect(first.findings.counted == [TaskID(3): 1])
        #expect(first.trials.crashSuspects == [TaskID(3)])
        let legacy = StartLog.Legacy(fault: 5, underWay: [.init(TaskID(3), faults: 1)])
        let second = StartTrials.examine(legacy, known: [TaskID(3): 1, TaskID(4): 1])
        #expect(second.findings.held == [TaskID(3): 2])
        // The second crash is explained, so the other task is cleared.
        #expect(second.findings.cleared == [TaskID(4)])
        #expect(second.trials.crashSuspects.isEmpty)
    }

    @Test func `Tasks that crash only together are never suspended`() {
        var known: [TaskID: Int] = [:]
        for _ in 1...20 {
            let underWay = ids(1...2).map { StartLog.Attempt($0, faults: known[$0] ?? 0) }
            let (trials, findings) = StartTrials.examine(.init(fault: 11, underWay: underWay), known: known)
            #expect(findings.held.isEmpty)
            #expect(trials.crashSuspects == ids(1...2))
            known = trials.faults
        }
        #expect(known == [TaskID(1): 20, TaskID(2): 20])
    }

    @Test func `A crash that is found twice counts once`() {
        // The run that found the crash first was killed before it could clear it.
        let legacy = StartLog.Legacy(fault: 5, underWay: [.init(TaskID(3))])
        let first = StartTrials.examine(legacy, known: [:])
        let again = StartTrials.examine(legacy, known: first.trials.faults)
        #expect(again.findings == first.findings)
        #expect(again.trials.faults == [TaskID(3): 1])
    }

    @Test func `The service first retries suspects of earlier crashes, then the task that started last`() {
        let underWay: [StartLog.Attempt] = [.init(TaskID(9)), .init(TaskID(2)), .init(TaskID(5), faults: 1)]
        let (trials, _) = StartTrials.examine(.init(fault: 4, underWay: underWay), known: [TaskID(5): 1])
        #expect(trials.crashSuspects == [TaskID(5), TaskID(9), TaskID(2)])
    }

    @Test func `A task that was not running at the next crash is no longer a crash suspect`() {
        let underWay = ids(1...2).map { StartLog.Attempt($0, faults: 1) }
        let known = Dictionary(uniqueKeysWithValues: ids(1...5).map { ($0, 1) })
        let (trials, _) = StartTrials.examine(.init(fault: 4, underWay: underWay), known: known)
        #expect(trials.crashSuspects == ids(1...2))
        // A kill during the isolated retries does not end any of them.
        let (others, _) = StartTrials.examine(.init(underWay: [underWay[0]]), known: known)
        #expect(Set(others.crashSuspects) == Set(ids(1...5)))
    }

    @Test func `A log that names a task twice counts its crash once`() {
        let legacy = StartLog.Legacy(fault: 5, underWay: [.init(TaskID(1)), .init(TaskID(1))])
        #expect(StartTrials.examine(legacy, known: [:]).findings.counted == [TaskID(1): 1])
    }

    @Test func `An isolated retry lasts longer than its task ran before the crash`() throws {
        var trials = afterFault(1...2, seconds: 7)
        trials.begin([TaskID(1)], now: 99)
        trials.answered(TaskID(1), now: 100)
        #expect(trials.trial?.until == 112.5)
        let early = trials.tick(now: 112.4)
        #expect(early == [] && trials.trial?.tasks == [TaskID(1)])
        // The task is interrupted, so that the next one can run alone.
        let tried = trials.tick(now: 112.5)
        #expect(tried == [TaskID(1)] && trials.trial == nil)
        let interrupted = trials.ended(TaskID(1), now: 113)
        #expect(!interrupted)
        // The crash of the task is remembered until an attempt has ended without a crash.
        #expect(trials.faults[TaskID(1)] == 1)
        let (ended, again) = (trials.ended(TaskID(1), now: 114), trials.ended(TaskID(1), now: 115))
        #expect(ended && !again)
        #expect(trials.crashSuspects == [TaskID(2)])
        trials.begin([TaskID(2)], now: 200)
        // The last task need not be interrupted.
        let last = trials.tick(now: 300)
        #expect(last == [] && trials.trial == nil)
    }

    @Test func `An isolated retry lasts its full time after the response, however late the response is`() {
        var trials = afterFault(1...2, seconds: 10)
        trials.begin([TaskID(1)], now: 100)
        #expect(trials.trial?.until == 125)
        trials.answered(TaskID(1), now: 124)
        #expect(trials.trial?.until == 141)
        // One response belongs to the same task, and the other to a task that is not being retried.
        trials.answered(TaskID(1), now: 130)
        trials.answered(TaskID(2), now: 130)
        #expect(trials.trial?.until == 141)
    }

    @Test func `The time of a joint retry counts from the last response of its tasks`() {
        var trials = afterFault(1...3, seconds: 10)
        trials.begin([TaskID(1), TaskID(2)], now: 100)
        trials.answered(TaskID(2), now: 101)
        #expect(trials.trial?.until == 126)
        trials.answered(TaskID(1), now: 103)
        #expect(trials.trial?.until == 120)
    }

    @Test func `The time that a slow disk needs does not count towards an isolated retry`() {
        var trials = afterFault(1...2)
        trials.begin([TaskID(1)], now: 100)
        trials.started(now: 130)
        let early = trials.tick(now: 139.9)
        #expect(early == [] && trials.trial?.tasks == [TaskID(1)])
        #expect(trials.trial?.until == 140)
    }

    @Test func `The service retries suspects of slow crashes in groups, within twenty minutes`() {
        var trials = afterFault(1...32, seconds: 300)
        var (now, groups) = (0.0, [[TaskID]]())
        while !trials.crashSuspects.isEmpty {
            groups.append(trials.next(of: trials.crashSuspects))
            trials.begin(groups.last ?? [], now: now)
            for task in groups.last ?? [] { trials.answered(task, now: now) }
            now = trials.trial?.until ?? now
            _ = trials.tick(now: now)
        }
        #expect(now <= StartTrials.timeout)
        #expect(groups.map(\.count) == [16, 16])
        // After another crash, only the tasks that were being retried are crash suspects.
        let next = afterFault(1...4, seconds: 300, faults: 1)
        #expect(next.next(of: next.crashSuspects).count == 2)
        let quick = afterFault(1...32, seconds: 20)
        #expect(quick.next(of: quick.crashSuspects).count == 1)
        // The suspects are split into two halves, however long the time until the crash was.
        let slow = afterFault(1...32, seconds: 86_400)
        #expect(slow.next(of: slow.crashSuspects).count == 16)
    }

    @Test func `The service ends isolated retries when their common time limit has passed`() {
        var trials = afterFault(1...3, seconds: 86_400)
        // One task starts late and alone, any number of times.
        trials.begin([TaskID(1)], now: 0)
        trials.answered(TaskID(1), now: 0)
        #expect(trials.trial?.until == StartTrials.longest)
        trials.postpone(TaskID(1), now: StartTrials.longest)
        #expect(trials.crashSuspects == [TaskID(2), TaskID(3), TaskID(1)])
        trials.begin([TaskID(2)], now: 2_000)
        _ = trials.tick(now: 2_000 + StartTrials.longest)
        #expect(!trials.isPending)
        #expect(trials.faults.count == 3)
    }

    @Test func `An isolated retry interrupts running tasks only after the suspect's second crash`() {
        #expect(!afterFault(1...2).interruptsOthers(TaskID(1)))
        #expect(afterFault(1...2, faults: 1).interruptsOthers(TaskID(1)))
    }

    /// A test of a service that one task crashes, some time after the start of the task or after its server's response.
    /// Now and then the service is killed from outside.
    @Test(arguments: 0..<300) func `The service finds and suspends only the task that causes the crashes`(seed: Int) {
        var model = FaultyService(seed: UInt64(seed))
        model.run()
        #expect(model.held == [model.guilty], "seed \(seed): \(model)")
        // The model allows one crash with all tasks running, one with the guilty task alone, and one for each halving
        // of the crash suspects in between. A kill loses the recorded time of the crash, so the halving starts again.
        #expect(model.faults <= 2 + model.halvings + model.kills * (1 + model.halvings), "seed \(seed): \(model)")
        #expect(model.longestWait < StartTrials.timeout + 0.001, "seed \(seed): \(model)")
    }
}
