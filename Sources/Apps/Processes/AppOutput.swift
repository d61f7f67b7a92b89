import CNightshift
import Foundation
import Glibc
package import NightshiftAPI

/// The path of an app's output into its log: a FIFO, a log keeper that reads it, and the two halves of the log.
///
/// The app has both ends of the FIFO open. So it never gets SIGPIPE, even if its log keeper is gone. If the FIFO is
/// full, the app waits until there is another keeper.
package struct AppOutput: Hashable, Sendable {
    let fifo: String
    /// The lock file that the log keeper holds while it runs.
    let lock: String
    /// The file with the pid of the last process that has executed its program.
    let begun: String
    /// The newer half; the older one has the suffix `.1`.
    let log: String
    /// The size limit of each half in bytes.
    let limit: Int64

    /// - Parameter log: an absolute path.
    package init(_ paths: ServicePaths, app: AppID, log: String, limit: Int64) {
        let name = Self.folder(paths) + app.shortFileName
        fifo = "\(name).out"
        lock = "\(name).lock"
        begun = Self.begun(paths, app)
        self.log = log
        self.limit = limit
    }

    static func begun(_ paths: ServicePaths, _ app: AppID) -> String { "\(folder(paths))\(app.shortFileName).begun" }

    private static func folder(_ paths: ServicePaths) -> String {
        paths.runtime.appending(path: "outputs", directoryHint: .isDirectory).path(percentEncoded: false)
    }

    /// Returns the halves of the log at `path`, the older one first.
    package static func halves(_ path: String) -> [String] { [path + ".1", path] }

    /// Opens the FIFO for the outputs of a process, and creates it if it does not exist.
    ///
    /// As long as the descriptor is open, the FIFO has a writer.
    func open() throws(LaunchFailure) -> Int32 {
        try Self.makeFolder(of: log)
        // Opening the log here finds errors that could not be reported to the user later.
        let file = Glibc.open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LaunchFailure("The log \(log) cannot be opened", code: errno) }
        close(file)
        try Self.makeFolder(of: fifo)
        guard mkfifo(fifo, 0o600) == 0 || errno == EEXIST else {
            throw LaunchFailure("The output \(fifo) cannot be created", code: errno)
        }
        let descriptor = Glibc.open(fifo, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw LaunchFailure("The output \(fifo) cannot be opened", code: errno) }
        return descriptor
    }

    /// Whether a process has the FIFO open for writing. Such a process can read it as well.
    var hasWriters: Bool {
        let descriptor = Glibc.open(fifo, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Whether everything that was written is in the log.
    var isRead: Bool {
        let descriptor = Glibc.open(fifo, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) != 0 || count == 0
    }

    /// Deletes the FIFO of an app that is gone.
    func remove() {
        unlink(fifo)
        unlink(lock)
    }

    /// Starts a log keeper if none is running. Returns the running one, which may have been started by a previous run
    /// of the service.
    func ensureKeeper() throws(LaunchFailure) -> pid_t {
        let lock = Glibc.open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw LaunchFailure("\(self.lock) cannot be opened", code: errno) }
        defer { close(lock) }
        let present = nightshift_keeper_of(lock)
        if present > 0 { return present }
        let input = Glibc.open(fifo, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw LaunchFailure("The output \(fifo) cannot be opened", code: errno) }
        defer { close(input) }
        // A half may be too long if its app wrote without a log keeper, or with another limit.
        for half in Self.halves(log) { LogFile.trim(half, limit: limit / 2) }
        var process: pid_t = 0
        let code = log.withCString { log in
            var keeper = nightshift_keeper(input: input, lock: lock, log: log, limit: limit)
            return nightshift_keeper_start(&keeper, &process)
        }
        guard code == 0 else { throw LaunchFailure("The log keeper of \(log) cannot be started", code: code) }
        return process
    }

    private static func makeFolder(of path: String) throws(LaunchFailure) {
        let folder = URL(filePath: path).deletingLastPathComponent()
        // If it cannot be created, opening the file reports the error.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
