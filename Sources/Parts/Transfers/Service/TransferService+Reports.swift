import Foundation
import Glibc
import Mounts
package import NightshiftAPI
import Scheduler
import Store

/// Reports for clients.
extension TransferService {
    /// Returns the public status of a task.
    func status(of record: TaskRecord) -> TaskStatus { wholeStatus(of: record).shown }

    /// Returns the full status of a task for its app. The status includes the state that only this actor knows: whether
    /// the task runs, its rate, and its wait.
    func wholeStatus(of record: TaskRecord) -> TaskStatus {
        let now = now
        // The row is updated before this actor's memory. A client that was notified of the task's end must not
        // afterwards receive a status that says that the task runs.
        if record.state.isTerminal { return record.status(now: now) }
        guard let transfer = active[record.id] else {
            var status = record.status(now: now)
            if finishing.contains(record.id) {
                status.state = .finishing
                status.wait = silentWait(at: finishing.place(of: record.id), now)
            }
            if status.state == .waiting {
                let pause = hosts.pause(way(of: record), now.bootSeconds)
                status.wait = admissions.wait(of: record, bounds, pause: pause, running: active.values, now)
            }
            if status.state == .suspended { status.wait = record.wait.map { record.visible($0, now) } }
            return status
        }
        return transfer.status(row: record, silentWait(at: transfer.place, now), now)
    }

    /// Returns the current state with its reason, and the decisions that led to it.
    package func explain(_ id: TaskID) async throws(Problem) -> Explanation {
        let (found, history) = try await store.ask { transaction in
            (try transaction.task(id), try transaction.history(of: id, limit: 50))
        }
        guard let record = found else { throw .noTask(id) }
        let status = status(of: record)
        let running = status.state == .running ? active[id] : nil
        return Explanation(
            task: status, sentence: running.map { sentence(of: $0) } ?? status.explanation,
            endedBy: status.wait.map(Self.endedBy), history: history)
    }

    private func sentence(of transfer: ActiveTransfer) -> String {
        RunningTransferText(
            ownLimit: transfer.record.request.rateLimit, serviceLimit: bounds.limits.rateLimit, running: active.count,
            slowness: transfer.pace.slowSince.map {
                RunningTransferText.Slowness(
                    seconds: now.bootSeconds - $0, minimum: bounds.leastPace(of: transfer.record))
            }, yielding: transfer.yieldMeter.value
        ).sentence
    }

    private static func endedBy(_ wait: Wait) -> String {
        guard let until = wait.until else { return wait.reason.endedBy }
        return "time, at \(until.formatted(.iso8601))"
    }

    package nonisolated func journal(_ query: JournalQuery) async throws(Problem) -> JournalPage {
        let limit = max(1, min(query.limit, Limits.pageSize))
        let entries = try await store.ask { transaction in
            try transaction.journal(
                after: query.after, tasks: query.task.map { [$0] }, app: query.app,
                since: query.since?.timeIntervalSince1970, limit: limit)
        }
        return JournalPage(entries: entries, next: entries.count == limit ? entries.last?.id : nil)
    }

    package func status() async throws(Problem) -> ServiceStatus {
        var counts = try await store.ask { try $0.countsByState() }
        // Only this actor knows which tasks run. The rows of these tasks say 'waiting'.
        let waiting = (counts[.waiting] ?? 0) - active.count
        counts[.waiting] = max(0, waiting)
        counts[.running] = active.count
        let now = now
        let paused = hosts.paused(now.bootSeconds).map {
            PausedHost(origin: $0.origin, until: now.wallTime(ofBootSeconds: $0.until))
        }
        var status = ServiceStatus(
            version: NightshiftVersion.current, processID: getpid(), startedAt: life.startedAt.date,
            home: environment.paths.state.path, networkAvailable: bounds.moment.conditions.network.isAvailable,
            settings: bounds.limits.settings,
            tasks: Dictionary(uniqueKeysWithValues: TaskState.allCases.map { ($0.rawValue, counts[$0] ?? 0) }),
            bytesPerSecond: active.values.reduce(0) { $0 + $1.speed.bytesPerSecond },
            lastJournalEntry: store.journalSignal.last, pausedHosts: paused)
        let silent = fileSystems.silences.values.sorted { $0.path < $1.path }
        if !silent.isEmpty {
            status.silentFileSystems = silent.map {
                SilentFileSystem(path: $0.path, since: now.wallTime(ofBootSeconds: $0.since))
            }
        }
        status.proxyVariables = environment.fallback.variables
        return status
    }

    /// Returns the progress of running tasks.
    func progress(of tasks: Set<TaskID>?, session: SessionID?) -> [TaskProgress] {
        active.values.filter { transfer in
            // If a transfer is stopping, the journal reports the final count.
            (transfer.run.phase == .preparing || transfer.run.phase == .exchanging)
                && (tasks?.contains(transfer.record.id) ?? true)
                && (session.map { $0 == transfer.record.session } ?? true)
        }.map { $0.progress() }.sorted { $0.id < $1.id }
    }
}
