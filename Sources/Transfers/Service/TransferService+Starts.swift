import Clock
import Foundation
import Logging
import NightshiftAPI
import Store

/// A task that takes the service down does not do it for ever: see ``StartTrials``.
extension TransferService {
    /// Looks at what the last service left, and holds back what took it down.
    func examineStarts() async throws(StoreError) {
        let known = try await store.read { try $0.faults() }
        let (trials, findings) = StartTrials.examine(starts.legacy, known: known)
        admissions.trials = trials
        guard let fault = starts.legacy.fault else { return }
        let names = starts.legacy.underWay.map { "\($0)" }.joined(separator: ", ")
        logger.error("A fault ended the last service", metadata: ["signal": "\(fault)", "tasks": "\(names)"])
        let now = now
        let detail = "Signal \(fault). " + (names.isEmpty ? "No task was under way." : "Under way: \(names).")
        try await store.write { transaction in
            try transaction.record(JournalEntry(time: now.date, decision: .serviceFault, detail: detail))
            try transaction.countFault(findings.counted)
            try transaction.forgetFaults(findings.cleared)
            for (task, faults) in findings.held.sorted(by: { $0.key < $1.key }) {
                // Its owner may have suspended it, or it may have ended, just before the fault.
                guard var record = try transaction.readableTask(task), record.allows(.setAside(faults: faults))
                else { continue }
                let entries = self.apply(.setAside(faults: faults), to: &record, now: now)
                try transaction.update(record)
                try transaction.putRules(record)
                for entry in entries { try transaction.record(entry) }
            }
        }
    }

    /// Tries the next suspect that can start; true while nothing else may start.
    func trySuspects() async throws(StoreError) -> Bool {
        if let tried = admissions.trials.tick(now: now.bootSeconds) {
            if active[tried] == nil, !finishing.contains(tried) { _ = admissions.trials.ended(tried) }
            interrupt(tried, .starting)
            await quiet(tried)
        }
        guard admissions.trials.trial == nil, !admissions.trials.suspects.isEmpty else {
            return admissions.trials.trial != nil
        }
        let suspects = admissions.trials.suspects
        let records = try await store.read { transaction in try suspects.map { try transaction.readableTask($0) } }
        for (task, record) in zip(suspects, records) {
            guard let record, !record.state.isTerminal else {
                if admissions.trials.ended(task) { try await forgetFaults(task) }
                continue
            }
            guard record.state != .suspended else {
                admissions.trials.removeSuspect(task)
                continue
            }
            guard !isStopping else { continue }
            if record.state == .finishing, !isBusy(task) {
                admissions.trials.begin(task, now: now.bootSeconds)
                logger.warning("A task is finished alone", metadata: ["task": "\(task)"])
                try await takeUp(task)
                if admissions.trials.trial != nil { return true }
                continue
            }
            guard canStart(record) else { continue }
            claims.beginStarting([task])
            defer {
                claims.endStarting([task])
                claims.wakeWaiters(for: task)
            }
            await makeWay(for: [record])
            guard !claims.isHeld(task) else { continue }
            admissions.trials.begin(task, now: now.bootSeconds)
            logger.warning("A task is tried alone", metadata: ["task": "\(task)"])
            await begin(record)
            admissions.trials.started(task, now: now.bootSeconds)
            if active[task] == nil, !finishing.contains(task) { admissions.trials.postpone(task) }
            if admissions.trials.trial != nil { return true }
        }
        return false
    }

    private func canStart(_ record: TaskRecord) -> Bool {
        record.state == .waiting && record.question == nil && record.beginAt == nil
            && record.notBefore ?? 0 <= now.bootSeconds && !isBusy(record.id) && !bounds.isSleeping
            && bounds.hold(record) == nil && allowance(way(of: record), now.bootSeconds) > 0
    }

    /// An exchange of the task was answered.
    func noteAnswer(of task: TaskID) {
        guard admissions.trials.trial?.task == task else { return }
        admissions.trials.answered(task, now: now.bootSeconds)
        reporting.yield { await $0.pump() }
    }

    /// Nothing is under way for the task any more.
    func endStart(_ task: TaskID) {
        starts.end(task)
        guard admissions.trials.ended(task) else { return }
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

    /// Takes tasks whose rows make no sense out of the queue.
    func setAsideUnreadable() async throws(StoreError) {
        let tasks = store.unreadable.takeFresh()
        guard !tasks.isEmpty else { return }
        for task in tasks {
            logger.error("A task cannot be read", metadata: ["task": "\(task.id)", "reason": "\(task.reason)"])
        }
        do throws(StoreError) {
            try await store.write { [now = now] transaction in
                try transaction.setAside(tasks)
                for task in tasks {
                    try transaction.record(
                        JournalEntry(time: now.date, decision: .unreadable, task: task.id, detail: task.reason))
                }
            }
        } catch {
            store.unreadable.putBack(tasks)
            throw error
        }
    }
}
