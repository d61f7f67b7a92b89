import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// The end of a session in this process.
extension SessionCore {
    /// The session ends when its last task has.
    func finishTasksAndInvalidate() {
        state.withLock { $0.isInvalidating = true }
        runAfterBacklog {}
    }

    func invalidateAndCancel() {
        let tasks = state.withLock { state in
            state.isInvalidating = true
            state.isCancelled = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.core.cancel() }
        for task in openDataTasks { task.cancel() }
        // Those of earlier processes, which the service has only just told of.
        runAfterBacklog { [self] in
            for task in state.withLock({ Array($0.tasks.values) }) { task.core.cancel() }
        }
    }

    /// However long the service takes to say what there is: it is not the end before that is at its end.
    private func runAfterBacklog(_ body: @escaping @Sendable () -> Void) {
        whenAttached(orAway: false) { [self] in
            if failure == nil { waitForBacklog() }
            body()
            state.withLock { $0.maySettle = true }
            events.async { [self] in invalidateIfFinished() }
        }
    }

    var takesNoTasks: Bool {
        state.withLock { state in
            if case .failed = state.attachment { return false }
            return state.isInvalidating || state.isInvalid
        }
    }

    private func waitForBacklog() {
        let waiter = DispatchSemaphore(value: 0)
        let isNeeded = state.withLock { state in
            guard !state.isCaughtUp, !state.isInvalid else { return false }
            state.backlogWaiters.append(waiter)
            return true
        }
        guard isNeeded else { return }
        _ = waiter.wait(timeout: .now() + .seconds(Int(Self.backlogPatience.components.seconds)))
        state.withLock { $0.backlogWaiters.removeAll { $0 === waiter } }
    }

    /// As the end of the process: nothing more is read or delivered.
    func abandon() {
        let held = state.withLock { state in
            state.isInvalid = true
            return state.takeHoldings()
        }
        held.reader?.cancel()
        letGo(of: held)
    }

    /// Outside of the lock: what the app's objects hold may come back here as they go.
    private func letGo(of held: Holdings) {
        held.loader?.invalidate()
        for waiter in held.waiters { waiter.goOn() }
    }

    /// Forgets a task whose delegate has heard of its end, and ends the session where that was what it waited for. On ``events``.
    func forget(_ task: TaskCore) {
        remove(task)
        invalidateIfFinished()
    }

    /// Forgets a task whose delegate has heard of its end.
    func remove(_ task: TaskCore) {
        let object = state.withLock { state in
            state.belated.removeAll { $0 == task.identifier }
            if let id = task.state.withLock(\.id) { state.taskIdentifiers[id] = nil }
            return state.tasks.removeValue(forKey: task.identifier)
        }
        withExtendedLifetime(object) {}
        task.closeSourceIfEnded()
    }

    func invalidateIfFinished() {
        let isFinished = state.withLock {
            $0.isInvalidating && $0.maySettle && $0.tasks.isEmpty && $0.dataTasks.isEmpty
        }
        if isFinished { invalidate(nil) }
    }

    /// On ``events``: the delegate's last message, after which nothing is held any more.
    func invalidate(_ error: URLError?) {
        let (reader, isFirst) = state.withLock { state -> (reader: EventReader?, isFirst: Bool) in
            guard !state.isInvalid else { return (nil, false) }
            state.isInvalid = true
            return (state.reader, true)
        }
        guard isFirst else { return }
        reader?.cancel()
        connection.sessions.remove(self)
        // Before the delegate's last message.
        giveUpWaiting()
        callDelegate { session, delegate in
            delegate.urlSession(session, didBecomeInvalidWithError: error)
        }
        letGo(of: state.withLock { $0.takeHoldings() })
        connection.commands.ended(self)
        // Handled messages are acknowledged all the same.
        acknowledge()
    }
}

extension SessionCore.State {
    fileprivate mutating func takeHoldings() -> SessionCore.Holdings {
        defer {
            (session, delegate, dataTasks) = (nil, nil, [:])
            (loader, reader, waiters) = (nil, nil, [])
        }
        return SessionCore.Holdings(
            session: session, delegate: delegate, dataTasks: dataTasks, loader: loader, reader: reader,
            waiters: waiters)
    }
}
