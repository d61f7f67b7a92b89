package import NightshiftAPI

/// The processes of apps. Simulations and tests replace it.
///
/// All calls may come from any thread, and block it briefly: until a program has started, or a group of processes has
/// stopped.
package protocol ProcessHost: AnyObject, Sendable {
    /// How processes are suspended, and why that way, for people.
    var name: String { get }

    /// Launched or adopted processes that have ended. It may have one reader.
    var exits: AsyncStream<(ProcessIdentity, ProcessEnd)> { get }

    /// Whether a process has ended. ``exits`` reports its end, if it has not already.
    func hasEnded(_ process: ProcessIdentity) -> Bool

    /// Creates the process of a program, which waits for ``begin(_:)``. If the service dies before that, no unknown
    /// process is left.
    func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity

    /// Lets a process from ``launch(_:)`` execute its program, and returns when it does. If the program cannot be
    /// executed, the process has ended.
    func begin(_ process: ProcessIdentity) throws(LaunchFailure)

    /// Whether a process launched by a previous run of the service ever executed its program. If not, the app's wakes
    /// are still to be handled. It must be the last process of the app, and have ended.
    func hadBegun(_ process: ProcessIdentity, of app: AppID) -> Bool

    /// Takes over a process that a previous run of the service has launched; returns false if it has ended.
    ///
    /// The process runs from now on, even if it was suspended. So do the processes that it has started, even if it has
    /// ended itself.
    func adopt(_ process: ProcessIdentity) -> Bool

    /// Makes sure that a log keeper reads the output of an adopted app, into a log whose halves have `limit` bytes.
    func keepLog(of app: AppID, log: String, limit: Int64)

    /// Returns the locks of the process, and of those that it has started, on files that other processes have open as
    /// well.
    func locks(_ process: ProcessIdentity) -> [HeldLock]

    /// Suspends the process with everything that it has started. If this returns false, it continues to run.
    func suspend(_ process: ProcessIdentity) -> Bool

    /// Resumes a suspended process; returns false if it has ended.
    func resume(_ process: ProcessIdentity) -> Bool

    /// Asks the process to end (SIGTERM to its group). A suspended process is resumed for it.
    func terminate(_ process: ProcessIdentity)

    /// Kills the process with everything that it has started.
    func kill(_ process: ProcessIdentity)

    /// Resumes everything that was suspended, and stops managing the processes. They continue to run.
    func shutdown()
}

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// The status is unknown, because this service is not the parent.
    case unknown
}
