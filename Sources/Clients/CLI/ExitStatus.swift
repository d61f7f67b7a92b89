/// The exit codes of the program.
package enum ExitStatus: Int32, Sendable {
    /// The exit code if everything that was requested has completed.
    case whole = 0
    /// The exit code if a transfer failed, or if the service refused a request.
    case failed = 1
    /// The exit code if the command line or a value in it is not valid.
    case usage = 2
    /// The exit code if the service does not respond and could not be started, or if it reports that it cannot work
    /// now.
    case unreachable = 3
    /// The exit code after ^C: 128 + SIGINT, as in shells. The transfers continue without this program.
    case interrupted = 130
}
