/// The exit codes of the program.
package enum ExitStatus: Int32, Sendable {
    /// Everything that was requested has completed.
    case whole = 0
    /// A transfer failed, or the service refused a request.
    case failed = 1
    /// The command line, or a value in it, is not valid.
    case usage = 2
    /// The service does not respond and could not be started, or reports that it cannot work now.
    case unreachable = 3
    /// The user pressed ^C: the transfers continue without this program (128 + SIGINT, as in shells).
    case interrupted = 130
}
