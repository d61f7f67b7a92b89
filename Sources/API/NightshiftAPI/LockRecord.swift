/// The contents of the lock file: the process of the running service, and the path of its socket.
///
/// The lock file is in the state directory, because this directory is the same for a desktop session, cron and sudo,
/// but the runtime directory is not. The contents are valid only while a process has the file locked.
package struct LockRecord: Hashable, Sendable {
    package var processID: Int32
    /// The absolute path of the socket; nil if the service that wrote the file does not record it.
    package var socket: String?

    package init(processID: Int32, socket: String?) {
        self.processID = processID
        self.socket = socket
    }

    /// Parses the contents of a lock file.
    ///
    /// - Returns: Nil if a service did not write the text.
    package init?(parsing text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let processID = Int32(first), processID > 0 else { return nil }
        self.processID = processID
        // A line without a line break at its end may be truncated.
        socket = lines.count > 2 && lines[1].hasPrefix("/") ? String(lines[1]) : nil
    }

    package var text: String {
        // A path may contain a line break. Such a path is not recorded in the lock file.
        let line = socket.flatMap { $0.contains("\n") ? nil : $0 + "\n" } ?? ""
        return "\(processID)\n\(line)"
    }
}
