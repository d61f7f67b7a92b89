package import NightshiftAPI

/// Where the processes of apps live: the seam at which simulations take the machine's place.
///
/// All calls may come from any thread, and block it for a moment: for as long as a program takes to start, or a group of
/// processes to stand still.
package protocol ProcessHost: AnyObject, Sendable {
    /// How processes are suspended, and why so: for a person.
    var name: String { get }

    /// Processes that were launched or adopted and have ended. For one reader.
    var exits: AsyncStream<(ProcessIdentity, ProcessEnd)> { get }

    /// Whether a process has ended. ``exits`` reports it, now or soon.
    func hasEnded(_ process: ProcessIdentity) -> Bool

    /// Makes the process of a program, which waits for ``begin(_:)``: whoever dies before leaves nothing behind that nobody knows of.
    func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity

    /// Lets the program of a process run that ``launch(_:)`` has made; returns when it does. One that cannot be executed has ended.
    func begin(_ process: ProcessIdentity) throws(LaunchFailure)

    /// Whether the program of a process that has ended had begun, which a service before this one has launched for the app last: if
    /// not, what it was launched for is still to be done.
    func hadBegun(_ process: ProcessIdentity, of app: AppID) -> Bool

    /// Takes over a process that a service before this one has launched: false where it has ended.
    ///
    /// It runs from now on, though it may have been suspended, and so does what it has started, though it may have ended.
    func adopt(_ process: ProcessIdentity) -> Bool

    /// Makes sure that somebody reads what the adopted processes of an app write, into a log with halves of `limit` bytes.
    func keepLog(of app: AppID, log: String, limit: Int64)

    /// Locks that the process and what it has started hold on files that others have open as well.
    func locks(_ process: ProcessIdentity) -> [HeldLock]

    /// Stops the process with everything that it has started; false where it could not be, and then it runs.
    func suspend(_ process: ProcessIdentity) -> Bool

    /// Lets it run again, if it does not; false where it has ended.
    func resume(_ process: ProcessIdentity) -> Bool

    /// Asks it to end (SIGTERM to its group). A suspended one runs again.
    func terminate(_ process: ProcessIdentity)

    /// Ends it with everything that it has started.
    func kill(_ process: ProcessIdentity)

    /// Lets everything run that was suspended, and leaves it all alone from now on. The processes live on.
    func shutdown()
}

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// Nobody can tell: this service is not its parent.
    case unknown
}
