import Clock
import Foundation
import Logging
import NightshiftAPI
import Store

/// Protection against tasks that crash the service repeatedly: see ``StartTrials``.
extension TransferService {
    /// Reads which tasks were running when the previous run of the service ended, and blocks crash suspects.
    func examineStarts() async throws(StoreError) {
        let known = try await store.read { try $0.faults() }
        let (trials, findings) = StartTrials.examine(starts.legacy, known: known)
        admissions.trials = trials
        guard let fault = starts.legacy.fault else { return }
        let names = starts.legacy.underWay.map { "\($0.task)" }.joined(separator: ", ")
        logger.error("The previous run of the service crashed", metadata: ["signal": "\(fault)", "tasks": "\(names)"])
        let now = now
        let detail = "Signal \(fault). " + (names.isEmpty ? "No transfer was running." : "Running: \(names).")
        try await store.write { transaction in
            try transaction.record(JournalEntry(time: now.date, decision: .serviceFault, detail: detail))
            try transaction.putFaults(findings.counted)
            try transaction.forgetFaults(findings.cleared)
            for (task, faults) in findings.held.sorted(by: { $0.key < $1.key }) {
                // The owner may have suspended the task, or it may have ended, just before the crash.
                guard var record = try transaction.readableTask(task), record.allows(.setAside(faults: faults))
                else { continue }
                let entries = self.apply(.setAside(faults: faults), to: &record, now: now)
                try transaction.update(record)
                try transaction.putRules(record)
                for entry in entries { try transaction.record(entry) }
            }
        }
        starts.takeOver()
    }

    /// Starts the next crash suspects that can start. Returns true while nothing else may start.
    func trySuspects() async throws(StoreError) -> Bool {
        let tried = admissions.trials.tick(now: now.bootSeconds)
        for task in tried where !isUnderWay(task) { _ = admissions.trials.ended(task, now: now.bootSeconds) }
        await interruptAndWait(tried)
        var passedOver: Set<TaskID> = []
        while admissions.trials.trial == nil, !isStopping {
            let ready = try await readySuspects().filter { !passedOver.contains($0) }
            let group = admissions.trials.next(of: ready)
            guard !group.isEmpty else { return false }
            passedOver.formUnion(group)
            try await tryAlone(group)
        }
        return admissions.trials.trial != nil
    }

    /// Returns the crash suspects that can start now, the likeliest first. Tasks that will never start are removed from
    /// the crash suspects.
    private func readySuspects() async throws(StoreError) -> [TaskID] {
        let crashSuspects = admissions.trials.crashSuspects
        guard !crashSuspects.isEmpty else { return [] }
        let records = try await store.read { transaction in try crashSuspects.map { try transaction.readableTask($0) } }
        var ready: [TaskID] = []
        for (task, record) in zip(crashSuspects, records) {
            guard let record, !record.state.isTerminal else {
                if admissions.trials.ended(task, now: now.bootSeconds) { try await forgetFaults(task) }
                continue
            }
            guard record.state != .suspended else {
                admissions.trials.removeSuspect(task)
                continue
            }
            guard !isBusy(task), record.state == .finishing || canStart(record) else { continue }
            // The crash suspect could not start although nothing else ran.
            guard active.isEmpty || admissions.trials.interruptsOthers(task) else {
                admissions.trials.removeSuspect(task)
                continue
            }
            ready.append(task)
        }
        return ready
    }

    /// Begins the isolated retry of these tasks while nothing else runs.
    private func tryAlone(_ tasks: [TaskID]) async throws(StoreError) {
        claims.beginStarting(tasks)
        defer {
            claims.endStarting(tasks)
            for task in tasks { claims.wakeWaiters(for: task) }
        }
        await interruptAndWait(active.keys.sorted())
        let records = try await store.read { transaction in
            try tasks.compactMap { try transaction.readableTask($0) }
        }
        await makeWay(for: records.filter { $0.state == .waiting })
        admissions.trials.begin(tasks, now: now.bootSeconds)
        logger.warning(
            "Crash suspects are retried in isolation",
            metadata: ["tasks": "\(tasks.map { "\($0)" }.joined(separator: ", "))"])
        // The likeliest crash suspect begins last, because it is then retried first after another crash.
        for record in records.reversed() where !isStopping && !claims.isHeld(record.id) {
            if record.state == .finishing {
                try await takeUp(record.id)
            } else if canStart(record) {
                await begin(record)
            }
        }
        admissions.trials.started(now: now.bootSeconds)
        for task in tasks where !isUnderWay(task) { admissions.trials.postpone(task, now: now.bootSeconds) }
    }

    /// Ends the exchanges of other tasks, and waits until nothing runs for these tasks.
    private func interruptAndWait(_ tasks: [TaskID]) async {
        for task in tasks { interrupt(task) }
        for task in tasks { await quiet(task) }
    }

    private func isUnderWay(_ task: TaskID) -> Bool { active[task] != nil || finishing.contains(task) }

    private func canStart(_ record: TaskRecord) -> Bool {
        isReady(record) && allowance(way(of: record), now.bootSeconds) > 0
    }

    /// Records that a server has answered an exchange of the task.
    func noteAnswer(of task: TaskID) {
        guard let until = admissions.trials.trial?.until else { return }
        admissions.trials.answered(task, now: now.bootSeconds)
        guard admissions.trials.trial?.until != until else { return }
        scheduleSoon()
    }

    /// Records in the start log that work for the task begins, or that the task was changed during the work.
    func noteStart(_ task: TaskID) {
        starts.begin(task, at: now.bootSeconds, faults: admissions.trials.faults[task] ?? 0)
    }

    /// Records in the start log that the work for the task has ended.
    func endStart(_ task: TaskID) {
        starts.end(task)
        let wasTrial = admissions.trials.trial != nil
        let isCleared = admissions.trials.ended(task, now: now.bootSeconds)
        // Tasks that waited for this retry need not wait for the rest of its time.
        if wasTrial, admissions.trials.trial == nil { scheduleSoon() }
        guard isCleared else { return }
        reporting.yield { service in
            do throws(StoreError) {
                try await service.forgetFaults(task)
            } catch {
                await service.storeFailed(error)
            }
        }
    }

    private func forgetFaults(_ task: TaskID) async throws(StoreError) {
        try await store.write { try $0.forgetFaults([task]) }
    }
}
