import Foundation
import Logging
package import NightshiftAPI
import Scheduler
import Store

/// Changes of existing tasks. Some hundreds of tasks share a transaction, and each task has its own result.
extension TransferService {
    /// The result of a change for one task.
    typealias TaskOutcome<Value> = (id: TaskID, result: Result<Value, Problem>)

    // MARK: - Actions

    package func suspend(_ id: TaskID) async throws(Problem) -> TaskStatus { try await perform(.suspend, id) }

    package func resume(_ id: TaskID) async throws(Problem) -> TaskStatus { try await perform(.resume, id) }

    package func cancel(_ id: TaskID, producingResumeData: Bool) async throws(Problem) -> TaskStatus {
        try await perform(.cancel, id, producingResumeData: producingResumeData)
    }

    /// Performs an action on one task.
    ///
    /// - Parameter failure: the reason for a cancellation; nil for the owner's own.
    @discardableResult
    func perform(
        _ action: TaskAction, _ id: TaskID, producingResumeData: Bool = false, because failure: TransferFailure? = nil
    ) async throws(Problem) -> TaskStatus {
        let outcomes = try await perform(action, [id], producingResumeData: producingResumeData, because: failure)
        return status(of: try outcomes[0].result.get())
    }

    private func perform(
        _ action: TaskAction, _ ids: [TaskID], producingResumeData: Bool, because failure: TransferFailure? = nil
    ) async throws(Problem) -> [TaskOutcome<TaskRecord>] {
        let outcomes = try await transition(each: ids) { record in
            switch action {
            case .suspend: record.state == .suspended ? nil : .suspend
            case .resume: record.state == .waiting ? nil : .resume
            case .cancel:
                .cancel(
                    resumeData: producingResumeData && record.isResumable ? Self.newToken() : nil, failure: failure)
            case .remove, .change: nil
            }
        }
        let abandoned = outcomes.compactMap { _, result in
            (try? result.get()).flatMap { $0.after.isAbandoned ? $0.before : nil }
        }
        await discard(abandoned)
        return outcomes.map { ($0, $1.map(\.after)) }
    }

    /// Performs the action on each task.
    ///
    /// - Returns: the results, in the order of the request.
    package func act(_ request: TaskActionRequest) async throws(Problem) -> TaskActionAnswer {
        try RequestRules.check(request)
        var results: [TaskID: TaskActionResult] = [:]
        results.reserveCapacity(request.tasks.count)
        for part in workingOrder(of: request).parts(of: Self.tasksPerTransaction) {
            for (id, outcome) in try await act(request, part) {
                switch outcome {
                case .success(let record):
                    results[id] = TaskActionResult(id: id, task: record.map { status(of: $0) })
                case .failure(let problem): results[id] = TaskActionResult(id: id, problem: problem)
                }
            }
        }
        return TaskActionAnswer(results: request.tasks.compactMap { results[$0] })
    }

    private func act(
        _ request: TaskActionRequest, _ ids: [TaskID]
    ) async throws(Problem) -> [TaskOutcome<TaskRecord?>] {
        switch request.action {
        case .remove: return try await remove(each: ids).map { ($0, $1.map { _ in nil }) }
        case .change: return try await change(each: ids, request.change ?? TaskChange()).map { ($0, $1.map { $0 }) }
        case .suspend, .resume, .cancel:
            let resumes = request.producingResumeData ?? false
            return try await perform(request.action, ids, producingResumeData: resumes).map { ($0, $1.map { $0 }) }
        }
    }

    /// Returns the order in which the tasks are stopped: running tasks last. Each stop lets other tasks start, and the
    /// started tasks should not be tasks that the same request stops.
    private func workingOrder(of request: TaskActionRequest) -> [TaskID] {
        guard request.action == .suspend || request.action == .cancel else { return request.tasks }
        let running = claims.starting.union(active.keys)
        return request.tasks.filter { !running.contains($0) } + request.tasks.filter { running.contains($0) }
    }

    /// Removes the bytes of ended tasks, on this machine and on servers. Returns when the bytes on the service's own
    /// file system are gone.
    private func discard(_ records: [TaskRecord]) async {
        guard !records.isEmpty else { return }
        await files.discard(records)
        for record in records { abandonUpload(record) }
    }

    /// The number of tasks per transaction. It is small enough that other commits do not wait long, and large enough
    /// that the cost of a sync does not matter.
    private static let tasksPerTransaction = 250

    // MARK: - Transitions

    /// Blocks the start of tasks during a change.
    private func holding<Value: Sendable>(
        _ ids: [TaskID], _ change: () async throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        for id in ids { claims.hold(id) }
        let result: Result<Value, Problem>
        do throws(Problem) {
            result = .success(try await change())
        } catch {
            result = .failure(error)
        }
        for id in ids { claims.letGo(id) }
        await schedule()
        return try result.get()
    }

    /// Waits until nothing runs for the tasks, changes them in one transaction, and lets them run again.
    ///
    /// - Parameters:
    ///   - also: further changes in the same transaction.
    ///   - event: the event to apply in the state that is found; nil applies none.
    func transition(
        each ids: [TaskID],
        also: @escaping @Sendable (StoreTransaction, inout TaskRecord) throws -> Void = { _, _ in },
        _ event: @escaping @Sendable (TaskRecord) -> TaskEvent?
    ) async throws(Problem) -> [TaskOutcome<TaskTransition>] {
        // The set is determined at this point. If a task begins to finish later, the service waits for it.
        let placed = Set(ids.filter { finishing.contains($0) })
        let free = ids.filter { !placed.contains($0) }
        var outcomes: [TaskID: Result<TaskTransition, Problem>] = [:]
        if !free.isEmpty {
            outcomes = try await holding(free) { () async throws(Problem) in
                for id in free { interrupt(id) }
                for id in free { await quiet(id) }
                return try await store.change { [now] transaction in
                    try free.reduce(into: [:]) { outcomes, id in
                        outcomes[id] = try outcome { try transaction.transition(id, now, also: also, event) }
                    }
                }
            }
        }
        return ids.map { id in
            let placing = "All bytes of transfer \(id) have arrived. The file is being moved to its destination."
            return (id, outcomes[id] ?? .failure(.conflict(placing)))
        }
    }

    /// Makes one transition; see ``transition(each:also:_:)``.
    @discardableResult
    func transition(
        _ id: TaskID, also: @escaping @Sendable (StoreTransaction, inout TaskRecord) throws -> Void = { _, _ in },
        _ event: @escaping @Sendable (TaskRecord) -> TaskEvent?
    ) async throws(Problem) -> TaskTransition {
        try await transition(each: [id], also: also, event)[0].result.get()
    }

    /// Waits until the task is idle.
    func quiet(_ id: TaskID) async {
        while active[id] != nil || claims.isStarting(id) || finishing.contains(id) {
            await withCheckedContinuation { claims.add($0, for: id) }
        }
    }

    /// Ends a task whose resource timeout has passed.
    ///
    /// - Returns: false if the end cannot be written now.
    func timeOut(_ id: TaskID) async -> Bool {
        let failure = Discretion.TimeLimit.passed
        do throws(Problem) {
            let (before, after) = try await transition(id) { record in
                record.state == .waiting
                    ? .fail(failure, file: nil, resumeData: record.isResumable ? Self.newToken() : nil) : nil
            }
            if after.state == .failed, after.resumeData == nil { discard(before) }
            return true
        } catch {
            guard error.status != 503 else {
                storeFailed(StoreError(.other, error.detail ?? error.title))
                return false
            }
            // The task is being published, or is gone. The queue will check it again.
            logger.debug(
                "A transfer whose resource timeout has passed could not be ended",
                metadata: ["task": "\(id)", "problem": "\(error.detail ?? error.title)"])
            return true
        }
    }

    // MARK: - Changes of values

    package func change(_ id: TaskID, _ change: TaskChange) async throws(Problem) -> TaskStatus {
        try RequestRules.check(change, pointer: "")
        return status(of: try await self.change(each: [id], change)[0].result.get())
    }

    /// Makes the same change to each task, in one transaction, whether it runs or not. If the change is refused for one
    /// task, the other tasks still get the change.
    private func change(each ids: [TaskID], _ change: TaskChange) async throws(Problem) -> [TaskOutcome<TaskRecord>] {
        // A task that starts during the change would start with its old values.
        try await holding(ids) { () async throws(Problem) in
            for id in ids {
                while claims.isStarting(id) { await withCheckedContinuation { claims.add($0, for: id) } }
            }
            let outcomes: [TaskOutcome<TaskRecord>] = try await store.change { [now] transaction in
                try ids.map { id in (id, try outcome { try transaction.change(id, change, now) }) }
            }
            for case (let id, .success(let record)) in outcomes {
                guard let transfer = active[id] else { continue }
                noteStart(id)
                transfer.run.ownerChanged(record)
                if change.rateLimit != nil { shareRate(transfer) }
                updateYield(transfer)
            }
            return outcomes
        }
    }

    /// Gives a new URL, or other new values, to a task that has failed or has not ended. The bytes on disk are kept until
    /// a response shows that they do not belong to the file at the new URL. See ``RetargetedBytes``.
    package func retarget(_ id: TaskID, _ request: RetargetRequest) async throws(Problem) -> TaskStatus {
        try Problem.check(clientData: request.clientData, pointer: "/clientData")
        let found = try await store.ask { transaction in
            try transaction.task(id).map {
                ($0, try transaction.sessionSettings($0.session) ?? SessionSettings())
            }
        }
        guard let (record, settings) = found else { throw .noTask(id) }
        // This check comes first, so that the exchange is not ended unnecessarily.
        if active[id] != nil, record.kind == .upload { throw record.beganUpload }
        if let refusal = record.retargetRefusal ?? record.refusal(of: request.destination) { throw refusal }
        let replacement = try record.retargeted(by: request, settings, now)
        let (before, after) = try await transition(
            id,
            also: { transaction, record in
                if let refusal = record.refusal(of: request.destination) { throw refusal }
                record.clientData = request.clientData ?? record.clientData
                // The next attempt finds the folder of the new destination.
                if request.destination != nil { record.folder = nil }
                try transaction.deleteQuestions(id)
                if record.origin != replacement.origin { try transaction.move(&record, to: replacement.origin) }
            },
            { $0.retargetRefusal == nil ? .retarget(replacement.request) : nil })
        // The task may have ended or begun while its exchange stopped.
        if let refusal = before.retargetRefusal { throw refusal }
        return status(of: after)
    }

    // MARK: - Retries

    /// Ends the wait of one task after a failure, and all pauses on the route to its origin. A failed download starts
    /// again.
    ///
    /// Does not change a task that runs or that waits for another reason.
    package func retry(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let answer = try await retry(RetryRequest(tasks: [id]))
        if let refusal = answer.refused.first { throw refusal.problem }
        return try await task(id)
    }

    /// Ends the waits of the given tasks, and starts failed downloads among them again. Without tasks, ends the waits
    /// of all tasks that wait after a failure. If one task cannot be retried, the other tasks still are.
    package func retry(_ request: RetryRequest) async throws(Problem) -> RetryResponse {
        guard let tasks = request.tasks else { return try await retryAll() }
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        try RequestRules.check(tasks)
        let busy = Set(tasks.filter(isBusy))
        let outcomes = try await store.change { [now] transaction in
            try Set(tasks).sorted().map { id in
                let result = try outcome {
                    try transaction.endWait(id, isBusy: busy.contains(id)) { self.apply(.retry, to: &$0, now: now) }
                }
                return (id, result)
            }
        }
        var response = RetryResponse(count: 0)
        var failed: [TaskID] = []
        for (id, outcome) in outcomes {
            switch outcome {
            case .success(let retry):
                if let record = retry.record { hosts.forget(way(of: record)) }
                if retry.hasEndedWait { response.count += 1 }
                if retry.startsAgain { failed.append(id) }
            case .failure(let problem): response.refused.append(RefusedTask(id: id, problem: problem))
            }
        }
        await schedule()
        for part in failed.parts(of: Self.tasksPerTransaction) {
            for (id, outcome) in try await transition(each: part, { $0.isRetryable ? .retry : nil }) {
                switch outcome {
                case .success: response.count += 1
                case .failure(let problem): response.refused.append(RefusedTask(id: id, problem: problem))
                }
            }
        }
        return response
    }

    private func retryAll() async throws(Problem) -> RetryResponse {
        let count = try await store.change { [now] transaction in
            let count = try transaction.endAllWaits()
            let detail = count == 1 ? "1 transfer." : "\(count) transfers."
            try transaction.record(JournalEntry(time: now.date, decision: .retried, detail: detail))
            return count
        }
        hosts.forgetAll()
        await schedule()
        return RetryResponse(count: count)
    }
}

extension [TaskID] {
    /// Returns the elements in parts of at most `size`.
    fileprivate func parts(of size: Int) -> [[TaskID]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0...].prefix(size)) }
    }
}
