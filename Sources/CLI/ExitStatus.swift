/// What the program's exit code says.
package enum ExitStatus: Int32, Sendable {
    /// Everything that was asked for is whole and in its place.
    case whole = 0
    /// A transfer failed, or the service refused what was asked.
    case failed = 1
    /// The command line, or a value in it, makes no sense.
    case usage = 2
    /// The service does not answer and could not be started, or says that it cannot work now.
    case unreachable = 3
    /// ^C: the transfers go on without this program (128 + SIGINT, as shells count).
    case interrupted = 130
}
