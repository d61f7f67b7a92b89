import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Ends a session in this process.
extension SessionCore {
    /// Invalidates the session, which ends when its last task has ended.
    func finishTasksAndInvalidate() { close(cancelling: false) }

    func invalidateAndCancel() { close(cancelling: true) }

    /// Invalidates the session. The session does not end before the service has listed the session's tasks and these
    /// tasks have ended, however long that takes.
    private func close(cancelling: Bool) {
        state.withLock { $0.machine.close(cancelling: cancelling) }
        if cancelling {
            cancelTasks()
            for task in openDataTasks { task.cancel() }
        }
        whenAttached(orAway: false) { [self] in
            if failure == nil { wait(within: Self.backlogTimeout) { $0.waitForBacklog() } }
            // This also cancels the tasks of earlier processes, which the service has only just listed.
            if cancelling { cancelTasks() }
            apply { $0.machine.settle() }
        }
    }

    private func cancelTasks() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.core.cancel() }
    }

    var takesNoTasks: Bool { state.withLock(\.machine.takesNoTasks) }

    /// Stops reading and delivering messages, as if the process had ended.
    func abandon() { apply { $0.machine.abandon() } }

    /// Releases a task after the delegate was notified of its end. If the session waited for this end, the session
    /// ends. Runs on ``events``.
    func forget(_ task: TaskCore) {
        remove(task)
        endIfFinished()
    }

    /// Releases a task after the delegate was notified of its end.
    func remove(_ task: TaskCore) {
        let object = state.withLock { state in
            state.machine.remove(task.identifier)
            return state.tasks.removeValue(forKey: task.identifier)
        }
        withExtendedLifetime(object) {}
        task.closeSourceIfEnded()
    }

    /// Ends the session if it is invalidated and has no tasks. Runs on ``events``.
    func endIfFinished() { apply { $0.machine.endIfFinished() } }

    /// Sends the delegate its last message. Runs on ``events``.
    func sendLastMessage(_ error: URLError?) {
        connection.sessions.remove(self)
        callDelegate(isLast: true) { session, delegate in
            delegate.urlSession(session, didBecomeInvalidWithError: error)
        }
        apply { $0.machine.ended() }
    }

    /// Releases the session's objects without holding the lock, because objects of the app may call the session while
    /// they are released.
    func release() {
        let (session, delegate, dataTasks, loader) = state.withLock { state in
            defer { (state.session, state.delegate, state.dataTasks, state.loader) = (nil, nil, [:], nil) }
            return (state.session, state.delegate, state.dataTasks, state.loader)
        }
        withExtendedLifetime((session, delegate, dataTasks)) { loader?.invalidate() }
    }
}
