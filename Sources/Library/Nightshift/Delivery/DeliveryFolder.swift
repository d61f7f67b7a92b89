import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folder with the library's own files for one session. The folder holds a record of the handled messages, and the
/// files that are being passed to the delegate.
///
/// Only one thread uses this object. Only one process at a time is connected to a session, so no other process uses the
/// session's files.
final class DeliveryFolder {
    private let record: String
    private let links: String
    /// The messages that have been handled, and whose acknowledgement may not have reached the service yet.
    private(set) var handled: Set<Int64> = []
    /// The messages in ``handled`` that an earlier process recorded. The library does not know yet whether the service
    /// still has them.
    private var inherited: Set<Int64> = []
    /// The number of lines in the file, which can exceed the number of messages in ``handled``.
    private var lines = 0

    /// The maximum number of lines about acknowledged messages. The file is rewritten if it has more such lines.
    private static let mostDeadLines = 1_000

    /// Reads the record of earlier processes, and removes the files that those processes were passing to their
    /// delegates.
    init(_ paths: ServicePaths, session: SessionID) {
        let name = session.rawValue.fileName(forDots: "session")
        let folder = paths.state.appending(path: "delivered", directoryHint: .isDirectory)
        record = folder.appending(path: name).path(percentEncoded: false)
        links = folder.appending(path: "files").appending(path: name).path(percentEncoded: false)
        try? FileManager.default.removeItem(atPath: links)
        for path in [folder.path(percentEncoded: false), links] { try? Self.makeDirectory(path) }
        let text = String(decoding: FileManager.default.contents(atPath: record) ?? Data(), as: UTF8.self)
        // A line that a crash has cut short names no message. The file is rewritten so that the next line is not
        // appended to such a line.
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

    /// Records that the callbacks of a message have returned. A single `write` appends the line, so that a crash leaves
    /// either the whole line or no line.
    func note(_ id: Int64) {
        handled.insert(id)
        lines += 1
        let descriptor = open(record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let line = Array("\(id)\n".utf8)
        let size = lseek(descriptor, 0, SEEK_END)
        // A full disk may accept only a part of the line, so that part is removed. Otherwise, the next line would be
        // appended to that part, and the combined line would name a message that has not arrived yet.
        if write(descriptor, line, line.count) != line.count, size >= 0 { _ = ftruncate(descriptor, size) }
    }

    /// Handles the arrival of a message. Messages arrive in the order of their ids. If an inherited message has a lower
    /// id and has not arrived, an earlier process has acknowledged that message.
    func arrived(_ id: Int64) {
        inherited.remove(id)
        let acknowledged = inherited.filter { $0 < id }
        guard !acknowledged.isEmpty else { return }
        inherited.subtract(acknowledged)
        forget(Array(acknowledged))
    }

    /// Removes the records of messages that the service will not send again.
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

    /// Returns whether the service's own file definitely no longer exists. Returns false for a file that is only
    /// temporarily unreachable.
    static func isGone(_ file: String) -> Bool { access(file, F_OK) != 0 && errno == ENOENT }

    /// Creates a second name for a finished file, so that the delegate can move the file. The service keeps the first
    /// name until the message is acknowledged. If the app crashes in the callback, it therefore gets the file again.
    ///
    /// The file gets the mode that new files of the app have. For example, a server that the app runs can then read the
    /// file after the app has moved it.
    func link(to file: String, message: Int64) throws -> URL {
        // An earlier attempt to create the folder may have failed, or the folder may have been removed since.
        try Self.makeDirectory(links)
        let path = "\(links)/CFNetworkDownload_\(message).tmp"
        unlink(path)
        if Glibc.link(file, path) != 0 {
            let code = errno
            guard code == EPERM || code == EXDEV || code == EMLINK || code == EOPNOTSUPP else {
                throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
            }
            // The file cannot be hard-linked, for example because the file system has no hard links.
            try FileManager.default.copyItem(atPath: file, toPath: path)
        }
        // `chmod` fails on a file system without modes.
        if let mode = modeOfNewFiles { chmod(path, mode) }
        return URL(filePath: path)
    }

    /// The mode that new files of the app have, given the app's umask and the folder's default access list. The mode is
    /// nil if no file can be created. The umask is not read directly, because umask(2) can only return the umask by
    /// changing it for all threads.
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

    /// Returns the path for the decoded content of a message's file.
    func nameForDecoding(message: Int64) throws -> String {
        try Self.makeDirectory(links)
        return "\(links)/CFNetworkDownload_\(message).decoded.tmp"
    }

    func remove(_ link: URL) {
        unlink(link.path(percentEncoded: false))
    }
}
