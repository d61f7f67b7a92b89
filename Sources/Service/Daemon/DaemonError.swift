/// A reason why the service could not start.
package enum DaemonError: Error, CustomStringConvertible {
    case alreadyRunning(processID: Int32?, home: String)
    /// The error that a directory or file of the service cannot be used.
    case home(String)
    /// The error that the database cannot be used.
    case store(String)
    case configuration(String)

    package var description: String {
        switch self {
        case .alreadyRunning(let processID, let home):
            "A service already runs for \(home)\(processID.map { " (process \($0))" } ?? ""). Use 'nightshift status' to see it."
        case .home(let message), .store(let message), .configuration(let message): message
        }
    }

    /// The exit status. Scripts and systemd distinguish the errors by it.
    package var exitStatus: Int32 {
        switch self {
        case .alreadyRunning: 4
        case .home: 5
        case .store: 6
        case .configuration: 2
        }
    }
}
