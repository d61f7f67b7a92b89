import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the library keeps of one session beside the service: which messages have been handled, and the files that the
/// delegate is being shown.
///
/// For one thread. Only one process at a time is connected with a session, so nobody else touches its files.
final class DeliveryFolder {
    private let record: String
    private let links: String
    /// Handled and perhaps not acknowledged yet.
    private(set) var handled: Set<Int64> = []
    /// Those of ``handled`` that an earlier process has noted, until it is known whether the service still has them.
    private var inherited: Set<Int64> = []
    /// Lines in the file; more than ``handled`` has.
    private var lines = 0

    /// Lines of acknowledged messages that are carried along before the file is written anew.
    private static let mostDeadLines = 1_000

    /// Reads what earlier processes have left, and removes the files that they were showing.
    init(_ paths: ServicePaths, session: SessionID) {
        let name = session.rawValue.fileName(forDots: "session")
        let folder = paths.state.appending(path: "delivered", directoryHint: .isDirectory)
        record = folder.appending(path: name).path(percentEncoded: false)
        links = folder.appending(path: "files").appending(path: name).path(percentEncoded: false)
        try? FileManager.default.removeItem(atPath: links)
        for path in [folder.path(percentEncoded: false), links] { try? Self.makeDirectory(path) }
        let text = String(decoding: FileManager.default.contents(atPath: record) ?? Data(), as: UTF8.self)
        // A line that a crash has cut short names no message; behind it the next one has to begin anew.
        let ids = text.split(separator: "\n", omittingEmptySubsequences: true)
        handled = Set((text.hasSuffix("\n") ? ids[...] : ids.dropLast()).compactMap { Int64($0) })
        inherited = handled
        lines = ids.count
        if !text.isEmpty && !text.hasSuffix("\n") { rewrite() }
    }

    private static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    // MARK: - Handled messages

    /// Notes that the callbacks of a message have returned. One `write`, so that a crash leaves a whole line or none.
    func note(_ id: Int64) {
        handled.insert(id)
        lines += 1
        let descriptor = open(record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let line = Array("\(id)\n".utf8)
        let size = lseek(descriptor, 0, SEEK_END)
        // A disk that is full may take a part: with the next line that would name another message, one that is yet to come.
        if write(descriptor, line, line.count) != line.count, size >= 0 { _ = ftruncate(descriptor, size) }
    }

    /// The service has sent a message. They come in the order of their ids: what was noted before it and has not come was
    /// acknowledged by the process that noted it.
    func arrived(_ id: Int64) {
        inherited.remove(id)
        let acknowledged = inherited.filter { $0 < id }
        guard !acknowledged.isEmpty else { return }
        inherited.subtract(acknowledged)
        forget(Array(acknowledged))
    }

    /// The service will not send these again.
    func forget(_ ids: [Int64]) {
        handled.subtract(ids)
        if handled.isEmpty || lines - handled.count > Self.mostDeadLines { rewrite() }
    }

    private func rewrite() {
        lines = handled.count
        if handled.isEmpty {
            unlink(record)
        } else {
            let text = handled.sorted().map { "\($0)\n" }.joined()
            try? Data(text.utf8).write(to: URL(filePath: record), options: .atomic)
        }
    }

    // MARK: - Files

    /// Whether the service's own file is certainly not there any more; one that only cannot be reached now is.
    static func isGone(_ file: String) -> Bool { access(file, F_OK) != 0 && errno == ENOENT }

    /// A second name for a finished file, for the delegate to take: the service keeps the first one until the message is
    /// acknowledged, so that an app that dies in the callback finds the file again.
    ///
    /// The file has the mode of files that the app creates: a server of the app's, say, may read it once it has been moved.
    func link(to file: String, message: Int64) throws -> URL {
        // It may not have been possible before, or somebody has removed it.
        try Self.makeDirectory(links)
        let path = "\(links)/CFNetworkDownload_\(message).tmp"
        unlink(path)
        if Glibc.link(file, path) != 0 {
            let code = errno
            guard code == EPERM || code == EXDEV || code == EMLINK || code == EOPNOTSUPP else {
                throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
            }
            // A file system without hard links.
            try FileManager.default.copyItem(atPath: file, toPath: path)
        }
        // A file system without modes refuses.
        if let mode = modeOfNewFiles { chmod(path, mode) }
        return URL(filePath: path)
    }

    /// The mode of files that the app creates, by its umask and the folder's default access list. Nil where none can be created. umask(2)
    /// cannot be read without being changed, for all threads.
    private var modeOfNewFiles: mode_t? {
        let path = "\(links)/mode.tmp"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard descriptor >= 0 else { return nil }
        defer {
            close(descriptor)
            unlink(path)
        }
        var facts = stat()
        return fstat(descriptor, &facts) == 0 ? facts.st_mode & 0o777 : nil
    }

    /// The name of a file for what a coded one holds.
    func nameForDecoding(message: Int64) throws -> String {
        try Self.makeDirectory(links)
        return "\(links)/CFNetworkDownload_\(message).decoded.tmp"
    }

    func remove(_ link: URL) {
        unlink(link.path(percentEncoded: false))
    }
}
