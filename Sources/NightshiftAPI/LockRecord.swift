/// The contents of the lock file: which process is the service of this home, and where it listens.
///
/// The lock is in the state directory, which is the same for a session, cron and sudo; the runtime directory is not. What the file
/// says counts only while its lock is held.
package struct LockRecord: Hashable, Sendable {
    package var processID: Int32
    /// The absolute path of the socket; nil from a service that does not write it.
    package var socket: String?

    package init(processID: Int32, socket: String?) {
        self.processID = processID
        self.socket = socket
    }

    /// - Returns: nil for what no service has written.
    package init?(parsing text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let processID = Int32(first), processID > 0 else { return nil }
        self.processID = processID
        // A line without its end may have been cut.
        socket = lines.count > 2 && lines[1].hasPrefix("/") ? String(lines[1]) : nil
    }

    package var text: String {
        // A path may hold a line break; then it cannot be found by its lock.
        let line = socket.flatMap { $0.contains("\n") ? nil : $0 + "\n" } ?? ""
        return "\(processID)\n\(line)"
    }
}
