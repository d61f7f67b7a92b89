import CNightshift
import Foundation
import Glibc
package import NightshiftAPI

/// The path that an app's output takes to its log. It leads through a FIFO and the log keeper that reads the FIFO, and
/// ends in the two halves of the log.
///
/// The app has both ends of the FIFO open. So it never gets SIGPIPE, even if its log keeper is gone. If the FIFO is
/// full, the app waits until another keeper runs.
package struct AppOutput: Hashable, Sendable {
    let fifo: String
    /// The lock file that the log keeper holds while it runs.
    let lock: String
    /// The file with the pid of the last process that executed the app's program.
    let begun: String
    /// The newer half of the log. The older half has the suffix `.1`.
    let log: String
    /// The size limit of each half in bytes.
    let limit: Int64

    /// Derives the paths of an app's output.
    ///
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

    /// Opens the FIFO for the output of a process, and creates the FIFO if it does not exist.
    ///
    /// The FIFO has a writer while the descriptor is open.
    func open() throws(LaunchFailure) -> Int32 {
        try Self.makeFolder(of: log)
        // Opening the log here finds errors early. The log keeper could not report them to the user later.
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

    /// Whether a process has the FIFO open for writing. Such a process also has it open for reading.
    var hasWriters: Bool {
        let descriptor = Glibc.open(fifo, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Whether all output that was written is in the log.
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

    /// Starts a log keeper if none is running. Returns the pid of the running keeper, which a previous run of the
    /// service may have started.
    func ensureKeeper() throws(LaunchFailure) -> pid_t {
        let lock = Glibc.open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw LaunchFailure("\(self.lock) cannot be opened", code: errno) }
        defer { close(lock) }
        let present = nightshift_keeper_of(lock)
        if present > 0 { return present }
        let input = Glibc.open(fifo, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw LaunchFailure("The output \(fifo) cannot be opened", code: errno) }
        defer { close(input) }
        // A half may exceed the limit if the app wrote without a log keeper, or with another limit.
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
        // If this fails, opening the file reports the error.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
