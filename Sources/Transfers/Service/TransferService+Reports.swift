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
            if status.state == .waiting { status.wait = wait(of: record, now) }
            if status.state == .suspended { status.wait = record.wait.map { record.visible($0, now) } }
            return status
        }
        var status = transfer.run.shown.status(now: now)
        status.wait = silentWait(at: transfer.place, now)
        status.state = status.wait == nil ? .running : .waiting
        status.priority = record.priority
        status.rateLimit = record.request.rateLimit
        status.description = record.request.description
        let progress = transfer.progress()
        if record.kind == .download {
            status.countOfBytesReceived = progress.countOfBytesReceived
        } else {
            status.countOfBytesSent = progress.countOfBytesSent
            if case .upload(let receiver, _, _) = transfer.exchange {
                status.informationalResponse = receiver.informationalResponse.map { ResponseSummary($0) }
                if let offset = receiver.upload.resource?.offset { status.upload?.countOfBytesAcknowledged = offset }
            }
        }
        status.bytesPerSecond = progress.bytesPerSecond
        if record.kind == .download { status.connections = transfer.connectionCount }
        return status
    }

    /// Returns the wait of a task: the stored wait, or the wait that follows from the device state.
    private func wait(of record: TaskRecord, _ now: ClockReading) -> Wait {
        let since = Date(timeIntervalSince1970: max(record.createdAt, record.wait?.since ?? 0))
        let pause = hosts.pause(way(of: record), now.bootSeconds)
        var facts = WaitOrder.Facts(needs: record.needs)
        facts.storePausedUntil = admissions.pausedUntil
        facts.isAsked = record.question != nil
        facts.notBefore = record.wait == nil ? nil : record.notBefore
        facts.beginAt = record.beginAt
        facts.trialUntil = admissions.trials.trial?.until
        facts.isHostPaused = pause != nil
        switch WaitOrder.cause(facts, bounds.moment, now) {
        case .store(let until):
            return Wait(
                reason: .diskSpace, since: since, until: now.wallTime(ofBootSeconds: until),
                detail: "The database cannot be written.")
        case .question:
            let since = record.wait.map { Date(timeIntervalSince1970: $0.since) } ?? since
            return Wait(reason: .answer, since: since, until: nil, detail: record.wait?.detail)
        case .pause: return record.wait.map { record.visible($0, now) } ?? Wait(reason: .starting, since: since)
        case .beginDate(let date):
            return Wait(reason: .beginDate, since: since, until: Date(timeIntervalSince1970: date))
        case .moment(let reason):
            return Wait(
                reason: reason,
                since: max(since, Date(timeIntervalSince1970: admissions.heldClasses.since(record.needs) ?? 0)),
                detail: bounds.detail(of: reason, record))
        case .sleeping: return Wait(reason: .sleeping, since: since)
        case .trial(let until):
            let tried = (admissions.trials.trial?.tasks ?? []).sorted().map { "\($0)" }
            let who = tried.count == 1 ? "transfer \(tried[0]) is" : "transfers \(tried.joined(separator: ", ")) are"
            return Wait(
                reason: .serviceLimit, since: since, until: now.wallTime(ofBootSeconds: until),
                detail: "The service crashed; \(who) retried in isolation first.")
        case .host:
            return Wait(
                reason: .hostBackoff, since: max(since, Date(timeIntervalSince1970: pause?.since ?? 0)),
                until: pause?.until.map { now.wallTime(ofBootSeconds: $0) }, detail: pause?.failure.message,
                failure: pause?.failure)
        case .queue: return placeInQueue(of: record, since: since)
        }
    }

    /// Returns the wait of a task that cannot start because other transfers use all connection slots.
    private func placeInQueue(of record: TaskRecord, since: Date) -> Wait {
        var lane =
            admissions.look.lanes[record.lane]
            ?? Admission.Lane(
                maximumConnections: record.maximumConnections, running: [], small: [], large: [], allowance: 1)
        lane.running = active.values.filter { $0.record.lane == record.lane }.map { $0.running(admissions.yields) }
        lane.origin = record.origin
        var places = ConnectionSlots(maximum: bounds.limits.maximumTransfers)
        for transfer in active.values { places.add(origin: transfer.record.origin, isSlow: transfer.pace.isSlow) }
        let reason = Admission.reason(
            isLarge: record.isLarge, hasFailed: record.hasFailed, lane: lane, places: places,
            smallWaitsElsewhere: admissions.look.lanes.values.contains { $0.allowance > 0 && !$0.small.isEmpty },
            othersFirst: Admission.othersFirst(
                admissions.look.lanes.values, maximumTransfers: bounds.limits.maximumTransfers))
        let detail: String? =
            switch reason {
            case .connectionLimit: "\(lane.running.count) of \(record.maximumConnections) connections are in use."
            case .serviceLimit: HeldPlaces(active.values.map { ($0.record.origin, $0.pace.isSlow) }).sentence
            default: nil
            }
        return Wait(reason: reason, since: since, detail: detail)
    }

    /// Returns the current state with its reason, and the decisions that led to it.
    package func explain(_ id: TaskID) async throws(Problem) -> Explanation {
        let (found, history) = try await ask { transaction in
            (try transaction.task(id), try transaction.history(of: id, limit: 50))
        }
        guard let record = found else { throw .notFound("There is no transfer \(id).") }
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
                RunningTransferText.Slowness(seconds: now.bootSeconds - $0, minimum: pace(leastOf: transfer))
            }
        ).sentence
    }

    private static func endedBy(_ wait: Wait) -> String {
        guard let until = wait.until else { return wait.reason.endedBy }
        return "time, at \(until.formatted(.iso8601))"
    }

    package nonisolated func journal(_ query: JournalQuery) async throws(Problem) -> JournalPage {
        let limit = max(1, min(query.limit, Limits.pageSize))
        let entries = try await ask { transaction in
            try transaction.journal(
                after: query.after, tasks: query.task.map { [$0] }, app: query.app,
                since: query.since?.timeIntervalSince1970, limit: limit)
        }
        return JournalPage(entries: entries, next: entries.count == limit ? entries.last?.id : nil)
    }

    package func status() async throws(Problem) -> ServiceStatus {
        var counts = try await ask { try $0.countsByState() }
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

extension TaskStatus {
    /// An explanation of the state, for display.
    fileprivate var explanation: String {
        switch state {
        case .suspended:
            wait.map { [$0.reason.sentence, $0.detail].compactMap(\.self).joined(separator: " ") }
                ?? "It is paused. Resume it to continue."
        case .waiting:
            [wait?.reason.sentence, wait?.detail].compactMap(\.self).joined(separator: " ")
        case .running: "It is running."
        case .finishing:
            (["All bytes were transferred. \(kind.finishingSentence)"]
                + [wait?.reason.sentence, wait?.detail].compactMap(\.self)).joined(separator: " ")
        case .completed: file.map { "It is complete: \($0)" } ?? "It is complete."
        case .failed: "It failed. \(error?.message ?? "")"
        case .cancelled: "It was cancelled."
        }
    }
}
