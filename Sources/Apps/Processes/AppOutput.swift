import CNightshift
import Foundation
import Glibc
package import NightshiftAPI

/// The way of what an app writes into its log: a FIFO, a keeper that reads it, and the two halves of the log.
///
/// The app has both ends of the FIFO open. So it is never told that nobody reads (SIGPIPE), though its keeper may be gone;
/// it waits when the FIFO is full, until there is another keeper.
package struct AppOutput: Hashable, Sendable {
    let fifo: String
    /// Locked by the keeper for as long as it works.
    let lock: String
    /// Holds the id of the last process whose program has begun.
    let begun: String
    /// The newer half; the older one has `.1` behind its name.
    let log: String
    /// Bytes that each half may have.
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

    /// The halves of the log at `path`, the older one first.
    package static func halves(_ path: String) -> [String] { [path + ".1", path] }

    /// Opens what a process is to have as its outputs; makes it where it is not there.
    ///
    /// As long as it is open, there is somebody who can write.
    func open() throws(LaunchFailure) -> Int32 {
        try Self.makeFolder(of: log)
        // Nobody else could tell the user why there is no log.
        let file = Glibc.open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LaunchFailure("The log \(log) cannot be opened", code: errno) }
        close(file)
        try Self.makeFolder(of: fifo)
        guard mkfifo(fifo, 0o600) == 0 || errno == EEXIST else {
            throw LaunchFailure("The output \(fifo) cannot be made", code: errno)
        }
        let descriptor = Glibc.open(fifo, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw LaunchFailure("The output \(fifo) cannot be opened", code: errno) }
        return descriptor
    }

    /// Whether a process can write to the FIFO: who can, can read it as well.
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

    /// Forgets the FIFO of an app that is gone.
    func remove() {
        unlink(fifo)
        unlink(lock)
    }

    /// Starts a keeper where there is none: the process that works, which may be one that an earlier service has started.
    func ensureKeeper() throws(LaunchFailure) -> pid_t {
        let lock = Glibc.open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw LaunchFailure("\(self.lock) cannot be opened", code: errno) }
        defer { close(lock) }
        let present = nightshift_keeper_of(lock)
        if present > 0 { return present }
        let input = Glibc.open(fifo, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw LaunchFailure("The output \(fifo) cannot be opened", code: errno) }
        defer { close(input) }
        // What was written without a keeper, or with another limit: a half has at most `limit` bytes.
        for half in Self.halves(log) { LogFile.trim(half, limit: limit / 2) }
        var process: pid_t = 0
        let code = log.withCString { log in
            var keeper = nightshift_keeper(input: input, lock: lock, log: log, limit: limit)
            return nightshift_keeper_start(&keeper, &process)
        }
        guard code == 0 else { throw LaunchFailure("The keeper of \(log) cannot be started", code: code) }
        return process
    }

    private static func makeFolder(of path: String) throws(LaunchFailure) {
        let folder = URL(filePath: path).deletingLastPathComponent()
        // Where it cannot be made, opening the file says why.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
