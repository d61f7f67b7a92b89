import Foundation
import NightshiftAPI

/// An effect that a ``SessionMachine`` requests. ``SessionCore`` executes actions in their order, without its lock.
///
/// Waiters and work are closures of the core's, which the machine knows by numbers.
enum SessionAction: Equatable, Sendable {
    /// Asks the machine after a pause whether to make this attempt, and makes it.
    case attach(attempt: Int, after: Duration)
    /// Contacts the service after the requests under way: acknowledges, then makes the attempt. Without one, it sends what is unsent
    /// and does the work that waits.
    case catchUp(attempt: Int?)
    case read
    case stopReading
    /// Lets callers continue, each once.
    case resume([Int])
    case acknowledge
    case sendUnsent(after: Duration)
    case doWork(after: Duration)
    /// Calls what work has for the case that the session is over first.
    case giveUpWork([Int])
    /// Asks the service for tasks that it did not list.
    case lookFor([Int: TaskID])
    /// Lets the delegate hear that these tasks have failed.
    case fail([Int], URLError)
    case cancelDataTasks
    /// Reports that the delegate has had more messages.
    case reportProgress
    /// Asks the machine, after the messages under way, whether the session has ended.
    case endIfFinished
    /// Ends a refused session a little later.
    case endRefused(URLError)
    /// Gives the delegate its last message, then lets the machine know.
    case sendLastMessage(URLError?)
    /// Releases session, delegate and loader.
    case release
    /// Reports that nobody is left to hear that events are finished.
    case reportEnd
}
