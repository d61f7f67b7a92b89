package import NightshiftAPI
import Store

/// One action on many tasks. Some hundreds share a transaction, and each task has its own result.
extension TransferService {
    /// Performs the action on each task.
    ///
    /// - Returns: the results, in the order of the request.
    package func act(_ request: TaskActionRequest) async throws(Problem) -> TaskActionAnswer {
        guard (1...Limits.tasksPerAction).contains(request.tasks.count) else {
            throw .invalid("A request must name 1 to \(Limits.tasksPerAction) transfers.", pointer: "/tasks")
        }
        guard Set(request.tasks).count == request.tasks.count else {
            throw .invalid("Name each transfer only once.", pointer: "/tasks")
        }
        try RequestRules.check(request.tasks)
        guard request.producingResumeData == nil || request.action == .cancel else {
            throw .invalid("Only the action 'cancel' can produce resume data.", pointer: "/producingResumeData")
        }
        guard (request.change != nil) == (request.action == .change) else {
            let detail =
                request.change == nil
                ? "The action 'change' requires the values to change."
                : "Only the action 'change' accepts values to change."
            throw .invalid(detail, pointer: "/change")
        }
        let change = request.change ?? TaskChange()
        try RequestRules.check(change, pointer: "/change")
        var results: [TaskID: TaskActionResult] = [:]
        results.reserveCapacity(request.tasks.count)
        var rest = workingOrder(of: request)[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.tasksPerTransaction))
            rest = rest.dropFirst(part.count)
            let done = try await act(request.action, part, change, request.producingResumeData ?? false)
            for result in done { results[result.id] = result }
        }
        return TaskActionAnswer(results: request.tasks.compactMap { results[$0] })
    }

    /// Returns the order in which the tasks are stopped: running tasks last. Each stop lets other tasks start, and the
    /// started tasks should not be tasks that the same request stops.
    private func workingOrder(of request: TaskActionRequest) -> [TaskID] {
        guard request.action == .suspend || request.action == .cancel else { return request.tasks }
        let running = claims.starting.union(active.keys)
        return request.tasks.filter { !running.contains($0) } + request.tasks.filter { running.contains($0) }
    }

    private func act(
        _ action: TaskAction, _ ids: [TaskID], _ change: TaskChange, _ producingResumeData: Bool
    ) async throws(Problem) -> [TaskActionResult] {
        switch action {
        case .suspend:
            return listed(try await transition(each: ids) { $0.state == .suspended ? nil : .suspend })
        case .resume:
            return listed(try await transition(each: ids) { $0.state == .waiting ? nil : .resume })
        case .cancel:
            let outcomes = try await transition(each: ids) { record in
                Self.cancellation(of: record, producingResumeData: producingResumeData, because: nil)
            }
            let abandoned = outcomes.compactMap { _, outcome -> TaskRecord? in
                guard case .success(let (before, after)) = outcome, Self.isAbandoned(after) else { return nil }
                return before
            }
            await discard(abandoned)
            return listed(outcomes)
        case .remove:
            return try await remove(each: ids)
        case .change:
            return try await self.change(each: ids, change).map { id, outcome in
                switch outcome {
                case .success(let record): TaskActionResult(id: id, task: status(of: record))
                case .failure(let problem): TaskActionResult(id: id, problem: problem)
                }
            }
        }
    }

    /// Applies one transition to each task in a single transaction, like ``transition(_:also:_:)`` for one task.
    func transition(
        each ids: [TaskID], _ event: @escaping @Sendable (TaskRecord) -> TaskEvent?
    ) async throws(Problem) -> [(TaskID, Result<Transition, Problem>)] {
        // The set is determined at this point. If a task begins to finish later, the service waits for it.
        let placed = Set(ids.filter { finishing.contains($0) })
        let free = ids.filter { !placed.contains($0) }
        for id in free {
            claims.hold(id)
            interrupt(id, .starting)
        }
        for id in free { await quiet(id) }
        let now = now
        let changed: Result<[TaskID: Result<Transition, Problem>], Problem>
        do throws(Problem) {
            changed = .success(
                try await change { transaction -> Result<[TaskID: Result<Transition, Problem>], Problem> in
                    var outcomes: [TaskID: Result<Transition, Problem>] = [:]
                    for id in free {
                        do {
                            outcomes[id] = try Self.transition(id, now, in: transaction, also: { _, _ in }, event)
                        } catch let error as StoreError where error.code == .unreadable {
                            outcomes[id] = .failure(Problem(error))
                        }
                    }
                    return .success(outcomes)
                })
        } catch {
            changed = .failure(error)
        }
        for id in free { claims.letGo(id) }
        await schedule()
        let outcomes = try changed.get()
        return ids.map { ($0, outcomes[$0] ?? .failure(Self.isBeingPlaced($0))) }
    }

    private func remove(each ids: [TaskID]) async throws(Problem) -> [TaskActionResult] {
        let now = now
        let outcomes = try await change { transaction -> Result<[(TaskID, Result<TaskRecord?, Problem>)], Problem> in
            .success(try ids.map { ($0, try Self.remove($0, now, in: transaction)) })
        }
        await forgotten(outcomes.compactMap { _, outcome in try? outcome.get() })
        return outcomes.map { id, outcome in
            switch outcome {
            case .success: TaskActionResult(id: id)
            case .failure(let problem): TaskActionResult(id: id, problem: problem)
            }
        }
    }

    private func listed(_ outcomes: [(TaskID, Result<Transition, Problem>)]) -> [TaskActionResult] {
        outcomes.map { id, outcome in
            switch outcome {
            case .success(let transition): TaskActionResult(id: id, task: status(of: transition.after))
            case .failure(let problem): TaskActionResult(id: id, problem: problem)
            }
        }
    }

    /// The number of tasks per transaction. It is small enough that other commits do not wait long, and large enough
    /// that the cost of a sync does not matter.
    static let tasksPerTransaction = 250
}
