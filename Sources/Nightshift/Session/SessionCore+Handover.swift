import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Telling the service of tasks.
extension SessionCore {
    /// Keeps a task that the app has just made.
    func add(_ core: TaskCore) -> any BackgroundTask {
        let task = core.makeTask()
        state.withLock { $0.tasks[core.identifier] = task }
        return task
    }

    /// Gives the service the task, or tells it to hold it or let it run, as the app wants it now.
    ///
    /// Where the service cannot be reached within `patience`, it is told later.
    func bringUpToDate(_ task: TaskCore, patience: Duration) {
        if let error = failure ?? task.flaw {
            endHere(task, error: error)
            return
        }
        do {
            try tell(task, patience: patience)
            state.withLock { _ = $0.belated.remove(task.identifier) }
        } catch let problem as Problem {
            refused(task, problem)
        } catch {
            state.withLock { _ = $0.belated.insert(task.identifier) }
            retryLater()
        }
    }

    func bringUpToDateLater(_ task: TaskCore) {
        requests.async { [self] in bringUpToDate(task, patience: Self.requestPatience) }
    }

    private func tell(_ task: TaskCore, patience: Duration) throws {
        task.turn.lock()
        defer { task.turn.unlock() }
        let (id, wish) = task.state.withLock { state in
            (state.id, state.phase == .open ? Wish(held: state.suspensions > 0, told: state.isHeld) : nil)
        }
        guard let wish else { return }
        guard let id else {
            try handOver(task, isHeld: wish.held, patience: patience)
            return
        }
        guard wish.held != wish.told else { return }
        do {
            _ = try connection.send("POST", "/v1/tasks/\(id)/\(wish.held ? "suspend" : "resume")", patience: patience)
        } catch let problem as Problem where problem.status == 409 || problem.status == 404 {
            // It has ended; its message is on the way.
        }
        task.state.withLock { $0.isHeld = wish.held }
    }

    private struct Wish {
        var held: Bool
        var told: Bool
    }

    func handOver(_ task: TaskCore, isHeld: Bool, patience: Duration) throws {
        let asksFirst = delegate is any URLSessionDelayedRequestDelegate
        let request = SessionEnqueueRequest(tasks: [task.handover(isHeld: isHeld, asksFirst: asksFirst)])
        task.state.withLock { $0.mayBeKnown = true }
        let answer = try connection.send(
            "POST", path + "/tasks", try JSON.encode(request), patience: patience,
            // Its end may have come before the answer: asked for again now, it would be done again.
            while: { task.state.withLock { $0.phase != .completed } })
        guard let id = try JSON.decode(EnqueueResponse.self, from: answer).ids.first else {
            throw ServiceUnreachable(message: "The service has not said which task that is.")
        }
        task.state.withLock { state in
            state.id = id
            state.isHeld = isHeld
        }
        state.withLock { state in
            // Its end may have been told already.
            if state.tasks[task.identifier] != nil { state.taskIdentifiers[id] = task.identifier }
        }
    }

    /// The service will not have the task.
    private func refused(_ task: TaskCore, _ problem: Problem) {
        if task.forgetResumeData() {
            bringUpToDate(task, patience: Self.resumePatience)
            return
        }
        endHere(
            task,
            error: .make(
                problem.urlErrorCode, problem.detail ?? problem.title,
                url: task.state.withLock { $0.originalRequest?.url }))
    }

    /// Ends a task of which the service knows nothing.
    func endHere(_ task: TaskCore, error: URLError) {
        events.async { [self] in
            guard let object = state.withLock({ $0.tasks[task.identifier] }) else { return }
            task.end(error: error)
            callDelegate { session, delegate in
                (delegate as? any URLSessionTaskDelegate)?.urlSession(
                    session, task: object, didCompleteWithError: error)
            }
            forget(task)
        }
    }

    // MARK: - Belated

    /// Tells the service of every task that it could not be told of before.
    func retryBelated() {
        let tasks = state.withLock { state in
            state.isRetrying = false
            return state.isInvalid ? [] : state.belated.sorted().compactMap { state.tasks[$0] }
        }
        for task in tasks { bringUpToDate(task.core, patience: Self.requestPatience) }
    }

    /// The attachment comes back to it too; this is for a service that was only slow.
    private func retryLater() {
        let isFirst = state.withLock { state in
            defer { state.isRetrying = true }
            return !state.isRetrying
        }
        if isFirst { requests.asyncAfter(deadline: .now() + .seconds(1)) { [self] in retryBelated() } }
    }

    /// Gives the service the tasks it does not have, held where they were never resumed, and the acknowledgements it waits for.
    func handOver(until deadline: ContinuousClock.Instant) {
        let tasks = state.withLock { state in
            state.tasks.values.filter { task in
                state.belated.contains(task.core.identifier) || task.core.state.withLock { $0.id == nil }
            }
        }
        for task in tasks.sorted(by: { $0.core.identifier < $1.core.identifier }) {
            let left = deadline - .now
            guard left > .zero else { return }
            bringUpToDate(task.core, patience: left)
        }
        acknowledge(until: deadline)
    }

    // MARK: - Ending and changing

    /// - Parameter completion: called on the delegate queue with what the download can be continued from.
    func cancel(
        _ task: TaskCore, producingResumeData: Bool, _ completion: @escaping @Sendable (Data?) -> Void
    ) {
        requests.async { [self] in
            do {
                guard let id = try idToCancel(task) else {
                    let url = task.state.withLock { $0.originalRequest?.url }
                    onDelegateQueue { completion(nil) }
                    endHere(task, error: .make(NSURLErrorCancelled, "cancelled", url: url))
                    return
                }
                let status = try JSON.decode(
                    TaskStatus.self,
                    from: try connection.send(
                        "POST", "/v1/tasks/\(id)/cancel",
                        try JSON.encode(CancelRequest(producingResumeData: producingResumeData)),
                        patience: Self.requestPatience))
                let data = producingResumeData ? ResumeData(status, note: task.state.withLock(\.note))?.data : nil
                onDelegateQueue { completion(data) }
            } catch is Problem {
                // It has ended already; its message is on the way.
                onDelegateQueue { completion(nil) }
            } catch {
                guard !state.withLock(\.isInvalid) else { return }
                cancel(task, producingResumeData: producingResumeData, completion)
            }
        }
    }

    /// Nil for a task that the service certainly does not have.
    private func idToCancel(_ task: TaskCore) throws -> TaskID? {
        task.turn.lock()
        defer { task.turn.unlock() }
        let (id, mayBeKnown) = task.state.withLock { ($0.id, $0.mayBeKnown) }
        if id == nil && mayBeKnown {
            // The answer was lost, not the task: handed over once more, it has its number.
            do {
                try handOver(task, isHeld: true, patience: Self.requestPatience)
            } catch is Problem {
                return nil
            }
        }
        return task.state.withLock(\.id)
    }

    func change(_ id: TaskID, _ change: TaskChange) {
        requests.async { [self] in
            // A hint and a label: a task that has ended needs neither.
            guard let body = try? JSON.encode(change) else { return }
            _ = try? connection.send("PATCH", "/v1/tasks/\(id)", body, patience: Self.requestPatience)
        }
    }
}
