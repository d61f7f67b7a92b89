import Dispatch
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
        state.withLock { state in
            state.machine.add(core.identifier)
            state.tasks[core.identifier] = task
        }
        return task
    }

    /// Gives the service the task, or tells it to hold it or let it run, as the app wants it now.
    ///
    /// Where the service cannot be reached within `patience`, or has yet to hear of other tasks, it hears of the task later, in its
    /// turn.
    func bringUpToDate(_ task: TaskCore, patience: Duration) {
        if let error = failure ?? task.flaw {
            endHere(task, error: error)
            return
        }
        if state.withLock({ !$0.machine.tasks.unsent.isEmpty }) { return postpone(task) }
        if !isTold(task, patience: patience) { postpone(task) }
    }

    /// As ``bringUpToDate(_:patience:)``, beside those that are still to be told of. On ``copies``.
    private func handOverCopied(_ task: TaskCore) {
        if let error = failure ?? task.flaw { return endHere(task, error: error) }
        if !isTold(task, patience: Self.copyPatience) { postpone(task) }
    }

    /// Whether the service has heard of it, or need not.
    private func isTold(_ task: TaskCore, patience: Duration) -> Bool {
        do {
            try report(task, patience: patience)
            return true
        } catch let problem as Problem {
            return refused(task, problem, patience: patience)
        } catch {
            return false
        }
    }

    /// Gives the service an upload, which may take as long as copying its file does: a caller waits for small ones only.
    func handOverUpload(_ task: TaskCore) {
        guard task.isLarge else {
            return bringUpToDate(task, patience: Self.resumePatience)
        }
        let isDone = DispatchSemaphore(value: 0)
        copies.async { [self] in
            bringUpToDate(task, patience: Self.copyPatience)
            isDone.signal()
        }
        _ = isDone.wait(within: Self.copyWait)
    }

    /// Where an upload is being copied nobody else has to wait for that.
    private func queue(for task: TaskCore) -> DispatchQueue {
        task.hasOpenSource ? copies : requests
    }

    func bringUpToDateLater(_ task: TaskCore) {
        queue(for: task).async { [self] in bringUpToDate(task, patience: Self.requestPatience) }
    }

    /// Waits for the thread that tells the service of this task already, no longer than `patience`.
    private func report(_ task: TaskCore, patience: Duration) throws {
        defer { task.closeSourceIfEnded() }
        try task.turn.run(within: patience) { try reportInTurn(task, patience: $0) }
    }

    private func reportInTurn(_ task: TaskCore, patience: Duration) throws {
        let (id, wish) = task.state.withLock { state in
            (state.id, state.phase == .open ? Wish(held: state.suspensions > 0, told: state.isHeld) : nil)
        }
        guard let wish else { return }
        guard let id else {
            try handOver(task, isHeld: wish.held, patience: patience)
            return
        }
        if wish.held != wish.told { try tell(task, id, isHeld: wish.held, patience: patience) }
    }

    private func tell(_ task: TaskCore, _ id: TaskID, isHeld: Bool, patience: Duration) throws {
        // Where no answer comes, it may have heard of it all the same.
        task.state.withLock { $0.isHeld = nil }
        do {
            try connection.notify(isHeld ? .suspend(id) : .resume(id), hasty: true, patience: patience)
        } catch let problem as Problem where problem.status == 409 || problem.status == 404 {
            // It has ended; its message is on the way.
        }
        task.state.withLock { $0.isHeld = isHeld }
    }

    private struct Wish {
        var held: Bool
        var told: Bool?
    }

    func handOver(_ task: TaskCore, isHeld: Bool, patience: Duration) throws {
        // Only what may have reached it may be known to it.
        try connection.openChannel(until: .now + patience, hasty: true)
        // Before it is described: what the app changes from here on is sent after it.
        let wasKnown = task.state.withLock { state in
            defer { state.mayBeKnown = true }
            return state.mayBeKnown
        }
        let asksFirst = delegate is any URLSessionDelayedRequestDelegate
        let request = SessionEnqueueRequest(tasks: [task.handover(isHeld: isHeld, asksFirst: asksFirst)])
        let answer: EnqueueResponse
        do {
            answer = try send(request, of: task, patience: patience)
        } catch let problem as Problem where problem.type == Problem.noSessionType {
            // The task has come before its session, or to a service that no longer knows the session.
            try attachSession(patience: patience)
            answer = try send(request, of: task, patience: patience)
        }
        guard let id = answer.ids.first else {
            throw ServiceUnreachable(message: "The service has not said which task that is.")
        }
        task.state.withLock { state in
            state.id = id
            // One that it has from before it has as it was described then.
            state.isHeld = wasKnown ? nil : isHeld
        }
        task.closeSource()
        task.discardResumeData()
        state.withLock { $0.machine.handedOver(task.identifier, as: id) }
        tellChanges(of: task)
        if wasKnown { try tell(task, id, isHeld: isHeld, patience: patience) }
    }

    private func send(
        _ request: SessionEnqueueRequest, of task: TaskCore, patience: Duration
    ) throws -> EnqueueResponse {
        try connection.request(
            .enqueue(request, inSession: identifier), hasty: true, patience: patience,
            // Its end may have come before the answer: asked for again now, it would be done again.
            while: { task.state.withLock { $0.phase != .completed } })
    }

    /// The service will not have the task.
    ///
    /// - Returns: whether that is all there is to say.
    private func refused(_ task: TaskCore, _ problem: Problem, patience: Duration) -> Bool {
        if task.forgetResumeData() {
            task.discardResumeData()
            return isTold(task, patience: patience)
        }
        let isSource = problem.pointer?.hasSuffix("/source") == true
        let isOpen = task.state.withLock { $0.descriptor != nil }
        // It is there, so what could not be had is the copy.
        let code = isSource && isOpen ? NSURLErrorCannotCreateFile : problem.urlErrorCode
        endHere(
            task,
            error: .make(code, problem.detail ?? problem.title, url: task.state.withLock { $0.originalRequest?.url }))
        return true
    }

    /// Ends a task of which the service knows nothing.
    func endHere(_ task: TaskCore, error: URLError) {
        events.async { [self] in
            let ending = state.withLock { state in
                state.machine.end(task.identifier) ? state.tasks[task.identifier] : nil
            }
            guard let object = ending else { return }
            task.end(error: error)
            callDelegate { session, delegate in
                (delegate as? any URLSessionTaskDelegate)?.urlSession(
                    session, task: object, didCompleteWithError: error)
            }
            forget(task)
        }
    }

    /// Ends a task that the service has forgotten: somebody has removed it with its session, and no message reports that.
    func endForgotten(_ task: TaskCore) {
        let url = task.state.withLock { $0.originalRequest?.url }
        endHere(task, error: .make(NSURLErrorCancelled, "The task was removed.", url: url))
    }

    // MARK: - Tasks that the service could not be given

    private func postpone(_ task: TaskCore) {
        // Asked in here: its return, which comes after, finds the task.
        apply { $0.machine.postpone(task.identifier, isUnreachable: connection.isUnreachable) }
    }

    /// Gives the service the tasks that it could not be given before, in order, until one fails. Uploads whose files it copies go
    /// beside them, so that the others do not wait for that. On ``requests``.
    func sendUnsent() {
        while let (number, task) = nextUnsent() {
            guard let task, task.core.state.withLock({ $0.phase == .open }) else {
                sent(number)
                continue
            }
            if let error = failure ?? task.core.flaw {
                endHere(task.core, error: error)
            } else if task.core.hasOpenSource {
                sent(number)
                copies.async { [self] in handOverCopied(task.core) }
                continue
            } else if !isTold(task.core, patience: Self.requestPatience) {
                postpone(task.core)
                return
            }
            sent(number)
        }
    }

    private func nextUnsent() -> (number: Int, task: (any BackgroundTask)?)? {
        state.withLock { state in state.machine.nextUnsent.map { ($0, state.tasks[$0]) } }
    }

    private func sent(_ number: Int) { state.withLock { $0.machine.sent(number) } }

    /// Gives the service the tasks it does not have, held where they were never resumed, and the acknowledgements it waits for.
    ///
    /// Uploads whose files are copied come last: the service may take as long as it likes for them when it has been told.
    func handOver(until deadline: ContinuousClock.Instant) {
        let tasks = state.withLock { state in
            state.machine.tasks.numbersToHandOver.compactMap { state.tasks[$0] }
        }
        for task in tasks where !task.core.hasOpenSource {
            let left = deadline - .now
            guard left > .zero else { return }
            if let error = failure ?? task.core.flaw {
                endHere(task.core, error: error)
            } else {
                _ = isTold(task.core, patience: left)
            }
        }
        acknowledge(until: deadline)
        handOverCopied(tasks.map(\.core).filter(\.hasOpenSource), until: deadline)
    }

    private func handOverCopied(_ tasks: [TaskCore], until deadline: ContinuousClock.Instant) {
        let left = deadline - .now
        guard !tasks.isEmpty, left > .zero else { return }
        let isDone = DispatchSemaphore(value: 0)
        copies.async { [self] in
            // Told already, each of them, where another thread was at work on it.
            for task in tasks { handOverCopied(task) }
            isDone.signal()
        }
        // The first of them is under way by then.
        let wait = tasks.contains(where: \.isLarge) ? min(Self.copyWait, left) : left
        _ = isDone.wait(within: wait)
    }

    // MARK: - Ending and changing

    /// - Parameter completion: called on the delegate queue with what the download can be continued from.
    func cancel(
        _ task: TaskCore, producingResumeData: Bool, _ completion: @escaping @Sendable (Data?) -> Void
    ) {
        queue(for: task).async { [self] in
            do {
                guard let id = try idToCancel(task) else {
                    let (url, unused) = task.state.withLock { ($0.originalRequest?.url, $0.resumeData) }
                    let data = producingResumeData ? unused?.handOut() : nil
                    onDelegateQueue { completion(data) }
                    endHere(
                        task,
                        error: .make(NSURLErrorCancelled, "cancelled", url: url, kind: task.kind, resumeData: data))
                    return
                }
                let status = try connection.request(
                    .cancel(id, CancelRequest(producingResumeData: producingResumeData)), hasty: true,
                    patience: Self.requestPatience)
                let data = producingResumeData ? ResumeData(status, note: task.state.withLock(\.note))?.handOut() : nil
                onDelegateQueue { completion(data) }
            } catch let problem as Problem {
                onDelegateQueue { completion(nil) }
                // Any other has ended already, and its message is on the way.
                if problem.status == 404 { endForgotten(task) }
            } catch is ServiceUnusable {
                // It was done, and the answer is a later service's.
                onDelegateQueue { completion(nil) }
            } catch {
                let again = Work {
                    $0.cancel(task, producingResumeData: producingResumeData, completion)
                } giveUp: {
                    $0.onDelegateQueue { completion(nil) }
                }
                onReconnect(again)
            }
        }
    }

    /// Nil for a task that the service certainly does not have.
    private func idToCancel(_ task: TaskCore) throws -> TaskID? {
        defer { task.closeSourceIfEnded() }
        return try task.turn.run(within: task.handoverPatience) { try idToCancel(task, patience: $0) }
    }

    private func idToCancel(_ task: TaskCore, patience: Duration) throws -> TaskID? {
        let (id, mayBeKnown) = task.state.withLock { ($0.id, $0.mayBeKnown) }
        if id == nil && mayBeKnown {
            // The answer was lost, not the task: handed over once more, it has its number.
            do {
                try handOver(task, isHeld: true, patience: patience)
            } catch is Problem {
                return nil
            }
        }
        return task.state.withLock(\.id)
    }

    /// Tells the service, where it has the task, what the app has changed of it.
    func tellChanges(of task: TaskCore) {
        guard task.unsentChange != nil else { return }
        requests.async { [self] in
            guard let (id, change) = task.unsentChange else { return }
            do {
                try connection.notify(.changeTask(id, change), hasty: true, patience: Self.requestPatience)
            } catch is Problem {
                // A hint and a label: a task that has ended needs neither.
            } catch {
                return onReconnect(Work(run: { $0.tellChanges(of: task) }, giveUp: { _ in }))
            }
            // It may have been changed once more meanwhile.
            task.state.withLock { if $0.unsent == change { $0.unsent = nil } }
        }
    }
}
