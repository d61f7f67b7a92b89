import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// The end of a session in this process.
extension SessionCore {
    /// The session ends when its last task has.
    func finishTasksAndInvalidate() { close(cancelling: false) }

    func invalidateAndCancel() { close(cancelling: true) }

    /// However long the service takes to say what there is, the session does not end before that has ended.
    private func close(cancelling: Bool) {
        state.withLock { $0.machine.close(cancelling: cancelling) }
        if cancelling {
            cancelTasks()
            for task in openDataTasks { task.cancel() }
        }
        whenAttached(orAway: false) { [self] in
            if failure == nil { wait(within: Self.backlogPatience) { $0.waitForBacklog() } }
            // Those of earlier processes, which the service has only just listed.
            if cancelling { cancelTasks() }
            apply { $0.machine.settle() }
        }
    }

    private func cancelTasks() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.core.cancel() }
    }

    var takesNoTasks: Bool { state.withLock(\.machine.takesNoTasks) }

    /// As the end of the process: nothing more is read or delivered.
    func abandon() { apply { $0.machine.abandon() } }

    /// Forgets a task whose delegate has heard of its end, and ends the session where it waited for that. On ``events``.
    func forget(_ task: TaskCore) {
        remove(task)
        endIfFinished()
    }

    /// Forgets a task whose delegate has heard of its end.
    func remove(_ task: TaskCore) {
        let object = state.withLock { state in
            state.machine.remove(task.identifier)
            return state.tasks.removeValue(forKey: task.identifier)
        }
        withExtendedLifetime(object) {}
        task.closeSourceIfEnded()
    }

    /// On ``events``.
    func endIfFinished() { apply { $0.machine.endIfFinished() } }

    /// On ``events``.
    func sendLastMessage(_ error: URLError?) {
        connection.sessions.remove(self)
        callDelegate(isLast: true) { session, delegate in
            delegate.urlSession(session, didBecomeInvalidWithError: error)
        }
        apply { $0.machine.ended() }
    }

    /// Releases what the session holds, outside of the lock: what the app's objects hold may come back here as they go.
    func release() {
        let (session, delegate, dataTasks, loader) = state.withLock { state in
            defer { (state.session, state.delegate, state.dataTasks, state.loader) = (nil, nil, [:], nil) }
            return (state.session, state.delegate, state.dataTasks, state.loader)
        }
        withExtendedLifetime((session, delegate, dataTasks)) { loader?.invalidate() }
    }
}
