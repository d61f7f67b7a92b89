import Glibc

/// A file lock as the kernel lists it in `/proc/locks` and `/proc/PID/fdinfo` (proc_locks(5)).
struct FileLock: Hashable, Sendable {
    let kind: Kind
    let isExclusive: Bool
    /// The process that holds the lock or waits for it; -1 if it belongs to an open file description.
    let process: pid_t
    /// Device and inode, as the kernel writes them.
    let file: Substring
    /// The first and the last byte of the locked range.
    let range: [Substring]
    /// Whether the process waits for the lock, and so does not hold it.
    let isAwaited: Bool

    enum Kind: String, Sendable {
        case flock
        case posix = "POSIX"
        case openFile = "OFD"
        case lease
    }

    /// Parses a line such as `1: POSIX  ADVISORY  WRITE 3548 08:01:131105 0 EOF`. An arrow `->` after the number marks
    /// a lock that a process waits for.
    init?(parsing line: some StringProtocol) {
        var words = line.split(whereSeparator: \.isWhitespace).map { Substring($0) }
        guard words.count > 1 else { return nil }
        words.removeFirst()
        isAwaited = words.first == "->"
        if isAwaited { words.removeFirst() }
        guard words.count == 7, let process = pid_t(words[3]) else { return nil }
        switch words[0] {
        case "FLOCK": kind = .flock
        case "POSIX": kind = .posix
        case "OFDLCK": kind = .openFile
        case "LEASE", "DELEG": kind = .lease
        default: return nil
        }
        isExclusive = words[2] != "READ"
        self.process = process
        file = words[4]
        range = [words[5], words[6]]
    }

    /// Whether this lock shows only that an SQLite database is open. Such a lock does not block other processes.
    ///
    /// In WAL mode, every open connection holds two shared locks. One is on the database (os_unix.c, `SHARED_FIRST`).
    /// The other is on the byte of the index that follows the bytes locked by readers and writers (`UNIX_SHM_DMS`). In
    /// other modes, the first lock means that a reader is active.
    ///
    /// - Parameter isWriteAhead: whether `path` is a database in WAL mode, or the index of one.
    func isLifeSign(path: String, isWriteAhead: Bool) -> Bool {
        guard kind == .posix, !isExclusive, isWriteAhead else { return false }
        return range == (path.hasSuffix("-shm") ? ["128", "128"] : ["1073741826", "1073742335"])
    }
}
