import Dispatch
import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Sends tasks and their changes to the service.
extension SessionCore {
    /// Adds a task that the app has just made.
    func add<Task: BackgroundTask>(_ task: Task) -> Task {
        state.withLock { state in
            state.machine.add(task.core.identifier)
            state.tasks[task.core.identifier] = task
        }
        return task
    }

    /// Brings the service's copy of the task up to date: sends the task, or suspends or resumes it, as the app wants it
    /// now.
    ///
    /// If the service cannot be reached within `timeout`, this task is sent later. If other tasks have not been sent
    /// yet, this task is sent after them.
    func bringUpToDate(_ task: TaskCore, timeout: Duration) {
        if let error = failure ?? task.flaw {
            endHere(task, error: error)
            return
        }
        if state.withLock({ !$0.machine.tasks.unsent.isEmpty }) { return postpone(task) }
        if !isTold(task, timeout: timeout) { postpone(task) }
    }

    /// Brings the service's copy of an upload up to date, like ``bringUpToDate(_:timeout:)``, but does not wait for
    /// other unsent tasks. Runs on ``copies``.
    private func handOverCopied(_ task: TaskCore) {
        if let error = failure ?? task.flaw { return endHere(task, error: error) }
        if !isTold(task, timeout: Self.copyTimeout) { postpone(task) }
    }

    /// Reports the task's state to the service. Returns whether the service now has this state or does not need it.
    private func isTold(_ task: TaskCore, timeout: Duration) -> Bool {
        do {
            try report(task, timeout: timeout)
            return true
        } catch let problem as Problem {
            return refused(task, problem, timeout: timeout)
        } catch {
            return false
        }
    }

    /// Sends an upload to the service. The request can take as long as the service needs to copy the file. The caller
    /// waits only for small files.
    func handOverUpload(_ task: TaskCore) {
        guard task.isLarge else {
            return bringUpToDate(task, timeout: Self.resumeTimeout)
        }
        let isDone = DispatchSemaphore(value: 0)
        copies.add { [self] in
            bringUpToDate(task, timeout: Self.copyTimeout)
            isDone.signal()
        }
        _ = isDone.wait(within: Self.copyWait)
    }

    /// Returns the queue for requests about the task. Uploads whose files are copied use their own queue, so that other
    /// tasks do not wait for the copies.
    private func queue(for task: TaskCore) -> WorkQueue {
        task.hasOpenSource ? copies : requests
    }

    func bringUpToDateLater(_ task: TaskCore) {
        queue(for: task).add { [self] in bringUpToDate(task, timeout: Self.requestTimeout) }
    }

    /// Reports the task's state to the service. If another thread is already doing so for this task, waits for it, for
    /// at most `timeout`.
    private func report(_ task: TaskCore, timeout: Duration) throws {
        defer { task.closeSourceIfEnded() }
        try task.turn.run(within: timeout) { try reportInTurn(task, timeout: $0) }
    }

    private func reportInTurn(_ task: TaskCore, timeout: Duration) throws {
        switch task.state.withLock(\.handover.nextRequest) {
        case .handOver(let isHeld): try handOver(task, isHeld: isHeld, timeout: timeout)
        case .setHeld(let id, let isHeld): try setHeld(task, id, isHeld, timeout: timeout)
        case nil: break
        }
    }

    private func setHeld(_ task: TaskCore, _ id: TaskID, _ isHeld: Bool, timeout: Duration) throws {
        task.state.withLock { $0.handover.setHeld(nil) }
        do {
            try connection.notify(isHeld ? .suspend(id) : .resume(id), hasty: true, timeout: timeout)
        } catch let problem as Problem where problem.status == 409 || problem.status == 404 {
            // The task has already ended. A message about its end will arrive.
        }
        task.state.withLock { $0.handover.setHeld(isHeld) }
    }

    func handOver(_ task: TaskCore, isHeld: Bool, timeout: Duration) throws {
        // The channel is opened first. If this fails, the service certainly has not received the request.
        try connection.openChannel(until: .now + timeout, hasty: true)
        let wasRequested = task.state.withLock { $0.handover.beginHandover() }
        let asksFirst = delegate is any URLSessionDelayedRequestDelegate
        let request = SessionEnqueueRequest(tasks: [task.handover(isHeld: isHeld, asksFirst: asksFirst)])
        let answer: EnqueueResponse
        do {
            answer = try send(request, of: task, timeout: timeout)
        } catch let problem as Problem where problem.type == Problem.noSessionType {
            // The task was sent before its session, or the service no longer knows the session.
            try attachSession(timeout: timeout)
            answer = try send(request, of: task, timeout: timeout)
        }
        guard let id = answer.ids.first else {
            throw ServiceUnreachable(message: "The service's response has no id for the task.")
        }
        task.state.withLock { $0.handover.handedOver(as: id, isHeld: wasRequested ? nil : isHeld) }
        task.closeSource()
        task.discardResumeData()
        state.withLock { $0.machine.handedOver(task.identifier, as: id) }
        tellChanges(of: task)
        if wasRequested { try setHeld(task, id, isHeld, timeout: timeout) }
    }

    private func send(
        _ request: SessionEnqueueRequest, of task: TaskCore, timeout: Duration
    ) throws -> EnqueueResponse {
        try connection.request(
            .enqueue(request, inSession: identifier), hasty: true, timeout: timeout,
            // The task's end may arrive before the response. In that case the request is not repeated, because that
            // would create the task again.
            while: { task.state.withLock { $0.handover.control.phase != .completed } })
    }

    /// Handles the service's refusal of a task.
    ///
    /// - Returns: Whether nothing more has to be reported about the task.
    private func refused(_ task: TaskCore, _ problem: Problem, timeout: Duration) -> Bool {
        if task.forgetResumeData() {
            task.discardResumeData()
            return isTold(task, timeout: timeout)
        }
        let isSource = problem.pointer?.hasSuffix("/source") == true
        let isOpen = task.state.withLock { $0.descriptor != nil }
        // The source file exists, so the copy must have failed.
        let code = isSource && isOpen ? NSURLErrorCannotCreateFile : problem.urlErrorCode
        endHere(
            task,
            error: .make(code, problem.detail ?? problem.title, url: task.state.withLock { $0.originalRequest?.url }))
        return true
    }

    /// Ends a task that the service does not have.
    func endHere(_ task: TaskCore, error: URLError) {
        events.add { [self] in
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

    /// Ends a task that the service removed together with its session. The service sends no message about such an end.
    func endForgotten(_ task: TaskCore) {
        let url = task.state.withLock { $0.originalRequest?.url }
        endHere(task, error: .make(NSURLErrorCancelled, "The task was removed.", url: url))
    }

    // MARK: - Unsent tasks

    private func postpone(_ task: TaskCore) {
        // Reachability is read before the machine gets the input. If the service returns later, `onReconnect` finds
        // this task.
        apply { $0.machine.postpone(task.identifier, isUnreachable: connection.isUnreachable) }
    }

    /// Sends the unsent tasks to the service in their order, until one fails. Uploads whose files the service copies
    /// are sent on another queue, so that the other tasks do not wait for the copies. Runs on ``requests``.
    func sendUnsent() {
        while let (number, task) = nextUnsent() {
            guard let task, task.core.state.withLock(\.handover.control.isOpen) else {
                sent(number)
                continue
            }
            if let error = failure ?? task.core.flaw {
                endHere(task.core, error: error)
            } else if task.core.hasOpenSource {
                sent(number)
                copies.add { [self] in handOverCopied(task.core) }
                continue
            } else if !isTold(task.core, timeout: Self.requestTimeout) {
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

    /// Sends the service all tasks that it does not have, and the pending acknowledgements. Tasks that were never
    /// resumed are sent as suspended.
    ///
    /// Uploads whose files are copied are sent last. Once the service has received such a request, the copy may take
    /// any time.
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
                _ = isTold(task.core, timeout: left)
            }
        }
        acknowledge(until: deadline)
        handOverCopied(tasks.map(\.core).filter(\.hasOpenSource), until: deadline)
    }

    private func handOverCopied(_ tasks: [TaskCore], until deadline: ContinuousClock.Instant) {
        let left = deadline - .now
        guard !tasks.isEmpty, left > .zero else { return }
        let isDone = DispatchSemaphore(value: 0)
        copies.add { [self] in
            // This is a quick check for a task that another thread has already sent.
            for task in tasks { handOverCopied(task) }
            isDone.signal()
        }
        // After this pause, the service is already processing the request for the first file.
        let wait = tasks.contains(where: \.isLarge) ? min(Self.copyWait, left) : left
        _ = isDone.wait(within: wait)
    }

    // MARK: - Ending and changing

    /// Cancels a task.
    ///
    /// - Parameter completion: A handler that is called on the delegate queue with resume data, or nil.
    func cancel(
        _ task: TaskCore, producingResumeData: Bool, _ completion: @escaping @Sendable (Data?) -> Void
    ) {
        queue(for: task).add { [self] in
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
                    timeout: Self.requestTimeout)
                let data = producingResumeData ? ResumeData(status, note: task.state.withLock(\.note))?.handOut() : nil
                onDelegateQueue { completion(data) }
            } catch let problem as Problem {
                onDelegateQueue { completion(nil) }
                // Any other problem means that the task has already ended. A message about its end will arrive.
                if problem.status == 404 { endForgotten(task) }
            } catch is ServiceUnusable {
                // The cancellation was done, but this version cannot decode the response of a newer service.
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

    /// Returns the service's id of the task, or nil if the service certainly does not have the task.
    private func idToCancel(_ task: TaskCore) throws -> TaskID? {
        defer { task.closeSourceIfEnded() }
        return try task.turn.run(within: task.handoverTimeout) { try idToCancel(task, timeout: $0) }
    }

    private func idToCancel(_ task: TaskCore, timeout: Duration) throws -> TaskID? {
        if task.state.withLock(\.handover.copy) == .requested {
            // The response to an earlier request was lost. If the task is sent again, the service responds with the
            // existing id.
            do {
                try handOver(task, isHeld: true, timeout: timeout)
            } catch is Problem {
                return nil
            }
        }
        return task.state.withLock(\.handover.id)
    }

    /// Sends the app's changes of a task to the service, if the service has the task.
    func tellChanges(of task: TaskCore) {
        guard task.state.withLock(\.handover.nextChange) != nil else { return }
        requests.add { [self] in
            guard let (id, change) = task.state.withLock(\.handover.nextChange) else { return }
            do {
                try connection.notify(.changeTask(id, change), hasty: true, timeout: Self.requestTimeout)
            } catch is Problem {
                // The changes here concern only the priority and the description. A task that has ended needs neither.
            } catch {
                return onReconnect(Work(run: { $0.tellChanges(of: task) }, giveUp: { _ in }))
            }
            task.state.withLock { $0.handover.sent(change) }
        }
    }
}
