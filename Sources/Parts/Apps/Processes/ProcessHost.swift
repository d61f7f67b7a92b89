package import NightshiftAPI

/// The interface through which the service manages the processes of apps. Simulations and tests replace its
/// implementation.
///
/// Callers may use any thread. Calls block the thread briefly: until a program has started, or a group of processes has
/// stopped.
package protocol ProcessHost: AnyObject, Sendable {
    /// A text for people that says how processes are suspended, and why in this way.
    var name: String { get }

    /// The launched or adopted processes that have ended. Only one reader may read this stream.
    var exits: AsyncStream<(ProcessIdentity, ProcessEnd)> { get }

    /// Whether a process has ended. ``exits`` reports its end if it has not done so already.
    func hasEnded(_ process: ProcessIdentity) -> Bool

    /// Creates a process that waits for ``begin(_:)`` before it executes its program. If the service dies before that,
    /// the process ends.
    func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity

    /// Lets a process from ``launch(_:)`` execute its program. Returns when the program has been executed. If that
    /// fails, the process has ended.
    func begin(_ process: ProcessIdentity) throws(LaunchFailure)

    /// Whether a process launched by a previous run of the service ever executed its program. If not, the app's wakes
    /// must still be handled. The process must be the last one of the app, and must have ended.
    func hadBegun(_ process: ProcessIdentity, of app: AppID) -> Bool

    /// Adopts a process that a previous run of the service launched. Returns false if it has ended.
    ///
    /// The process runs from now on, even if it was suspended. The processes that it has started also run from now on,
    /// even if it has ended.
    func adopt(_ process: ProcessIdentity) -> Bool

    /// Ensures that a log keeper writes the output of an adopted app to a log whose halves have `limit` bytes.
    func keepLog(of app: AppID, log: String, limit: Int64)

    /// Returns the locks that the process, and the processes it has started, hold on files that other processes also
    /// have open.
    func locks(_ process: ProcessIdentity) -> [HeldLock]

    /// Suspends the process and all processes that it has started. If this returns false, they continue to run.
    func suspend(_ process: ProcessIdentity) -> Bool

    /// Resumes a suspended process. Returns false if it has ended.
    func resume(_ process: ProcessIdentity) -> Bool

    /// Requests the end of the process by SIGTERM to its process group. A suspended process is resumed first.
    func terminate(_ process: ProcessIdentity)

    /// Kills the process and all processes that it has started.
    func kill(_ process: ProcessIdentity)

    /// Resumes all suspended processes, and stops managing processes. They continue to run.
    func shutdown()
}

/// The way in which a process ended.
package enum ProcessEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// The status is unknown, because this service is not the parent of the process.
    case unknown
}
