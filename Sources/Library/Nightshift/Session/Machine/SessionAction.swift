import Foundation
import NightshiftAPI

/// An effect that a ``SessionMachine`` requests. ``SessionCore`` executes actions in order, without holding its lock.
///
/// Waiters and work are closures of the core. The machine refers to them by numbers.
enum SessionAction: Equatable, Sendable {
    /// Makes this attempt to attach after a pause, unless the machine has dropped the attempt by then.
    case attach(attempt: Int, after: Duration)
    /// Contacts the service again, after the requests in progress: acknowledges messages, then makes the attempt to
    /// attach. If there is no attempt to make, the core sends the unsent tasks and does the waiting work.
    case catchUp(attempt: Int?)
    case read
    case stopReading
    /// Resumes waiting callers. Each caller is resumed once.
    case resume([Int])
    case acknowledge
    case sendUnsent(after: Duration)
    case doWork(after: Duration)
    /// Calls the work's `giveUp` closure, because the session is over.
    case giveUpWork([Int])
    /// Asks the service about tasks that it did not list.
    case lookFor([Int: TaskID])
    /// Notifies the delegate that these tasks have failed.
    case fail([Int], URLError)
    case cancelDataTasks
    /// Reports that the delegate may have received further messages.
    case reportProgress
    /// Checks whether the session has ended, after the messages in progress.
    case endIfFinished
    /// Ends a refused session after a short pause.
    case endRefused(URLError)
    /// Sends the delegate its last message, then notifies the machine.
    case sendLastMessage(URLError?)
    /// Releases the session, its delegate and its loader.
    case release
    /// Reports that the delegate was released and cannot be notified that its events are finished.
    case reportEnd
}
