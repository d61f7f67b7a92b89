import Foundation
import Glibc
import Logging

/// The log of a service on standard error, for the journal of systemd or for a file.
package enum ServiceLog {
    /// Sends all logs of this process to standard error. It may be called once per process.
    package static func bootstrap() {
        let isJournal = isJournal
        LoggingSystem.bootstrap { label -> any LogHandler in
            if isJournal { JournalLogHandler(write: write) } else { StreamLogHandler.standardError(label: label) }
        }
    }

    /// Writes an error that ends the process.
    package static func fail(_ message: String) {
        write(isJournal ? JournalLogHandler.lines(message, .error) : message + "\n")
    }

    private static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Whether standard error goes to the journal. If so, `JOURNAL_STREAM` names the device and the inode of the stream
    /// (systemd.exec(5)).
    static var isJournal: Bool {
        isStream(ProcessInfo.processInfo.environment["JOURNAL_STREAM"], STDERR_FILENO)
    }

    static func isStream(_ variable: String?, _ descriptor: Int32) -> Bool {
        var file = stat()
        guard let variable, fstat(descriptor, &file) == 0 else { return false }
        return variable == "\(file.st_dev):\(file.st_ino)"
    }
}
