import Dispatch
import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Executes the actions of the state machine.
extension SessionCore {
    /// Sends an input to the machine, and executes the actions that it returns.
    ///
    /// - Parameter input: A closure that is called while the lock is held, so that objects and machine change together.
    func apply(_ input: (inout State) -> [SessionAction]) {
        let actions = state.withLock { input(&$0) }
        for action in actions { execute(action) }
    }

    func execute(_ action: SessionAction) {
        switch action {
        case .attach(let attempt, let pause): requests.add(after: pause) { [self] in attach(attempt) }
        case .catchUp(let attempt): requests.add { [self] in catchUp(attempt) }
        case .read: read()
        case .stopReading: stopReading()
        case .resume(let numbers): resume(numbers)
        case .acknowledge: requests.add { [self] in sendAcknowledgements() }
        case .sendUnsent(after: .zero): requests.add { [self] in sendUnsent() }
        case .sendUnsent(let pause):
            requests.add(after: pause) { [self] in
                state.withLock { $0.machine.sendingIsDue() }
                sendUnsent()
            }
        case .doWork(after: .zero): requests.add { [self] in doWork() }
        case .doWork(let pause):
            requests.add(after: pause) { [self] in
                state.withLock { $0.machine.workIsDue() }
                doWork()
            }
        case .giveUpWork(let numbers): for work in takeWork({ _ in numbers }) { work.giveUp(self) }
        case .lookFor(let missing): requests.add { [self] in lookFor(missing) }
        case .fail(let numbers, let error):
            for number in numbers { if let task = task(number: number) { endHere(task.core, error: error) } }
        case .cancelDataTasks: for task in openDataTasks { task.cancel() }
        case .reportProgress: connection.commands.advanced(self)
        case .endIfFinished: events.add { [self] in endIfFinished() }
        case .endRefused(let error):
            // The session ends after a pause. A caller that is creating a task at this time is notified of the task's
            // end first.
            events.add(after: .seconds(1)) { [self] in apply { $0.machine.beginEnding(error) } }
        case .sendLastMessage(let error): sendLastMessage(error)
        case .release: release()
        case .reportEnd: connection.commands.ended(self)
        }
    }

    private func task(number: Int) -> (any BackgroundTask)? { state.withLock { $0.tasks[number] } }

    // MARK: - Waiting

    /// Calls `body` on ``waiting`` when the service has listed the session's tasks, or when the session has failed or
    /// ended.
    ///
    /// - Parameter orAway: Whether `body` is also called as soon as the service cannot be reached.
    func whenAttached(orAway: Bool, _ body: @escaping @Sendable () -> Void) {
        let proceed: @Sendable () -> Void = { [waiting] in waiting.add(body) }
        let number = addWaiter(proceed) { $0.waitForAttachment(failsFast: orAway) }
        if number == nil { proceed() }
    }

    /// Blocks the thread until the event of `input` has happened, for at most `timeout`. Returns at once if the
    /// machine has nothing to wait for.
    func wait(within timeout: Duration, _ input: (inout SessionMachine) -> Int?) {
        let semaphore = DispatchSemaphore(value: 0)
        guard let number = addWaiter({ semaphore.signal() }, input), !semaphore.wait(within: timeout) else { return }
        state.withLock { state in
            state.machine.stopWaiting(number)
            state.waiters[number] = nil
        }
    }

    private func addWaiter(
        _ proceed: @escaping @Sendable () -> Void, _ input: (inout SessionMachine) -> Int?
    ) -> Int? {
        state.withLock { state in
            let number = input(&state.machine)
            if let number { state.waiters[number] = proceed }
            return number
        }
    }

    private func resume(_ numbers: [Int]) {
        let waiters = state.withLock { state in numbers.compactMap { state.waiters.removeValue(forKey: $0) } }
        for proceed in waiters { proceed() }
    }

    /// Does `work` as soon as the service is reachable again. If the service is already reachable, the work is done
    /// after a short pause.
    func onReconnect(_ work: Work) {
        let (isKept, actions) = state.withLock { state in
            // Reachability is read while the lock is held. If the service returns later, `onReconnect` finds this
            // work.
            let (number, actions) = state.machine.addWork(isUnreachable: connection.isUnreachable)
            if let number { state.work[number] = work }
            return (number != nil, actions)
        }
        guard isKept else { return work.giveUp(self) }
        for action in actions { execute(action) }
    }

    private func doWork() {
        for work in takeWork({ $0.takeWork() }) { work.run(self) }
    }

    private func takeWork(_ numbers: (inout SessionMachine) -> [Int]) -> [Work] {
        state.withLock { state in numbers(&state.machine).compactMap { state.work.removeValue(forKey: $0) } }
    }

    /// Acknowledges messages, then attaches the session again or sends unsent tasks and does waiting work. Runs on
    /// ``requests``, after the requests that failed there.
    private func catchUp(_ attempt: Int?) {
        acknowledgeNow()
        // A successful attachment also causes the two steps below.
        if let attempt { return attach(attempt) }
        sendUnsent()
        doWork()
    }
}
