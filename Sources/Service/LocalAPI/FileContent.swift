import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import NightshiftAPI

/// A response with a file, a part of a file, or several consecutive files. The files are read as fast as the socket
/// accepts the bytes.
final class FileContent: Sendable {
    private let files: [File]
    private let type: String
    /// The range of bytes to send, over all files together.
    private let range: Range<Int64>

    private struct File {
        var descriptor: Int32
        var size: Int64
        /// The inode number, which does not change when the file is renamed.
        var inode: UInt64
    }

    /// The number of bytes per read: a compromise between few system calls and little memory.
    private static let piece = 256 << 10

    /// Creates a response with one file.
    ///
    /// - Parameters:
    ///   - start: The first byte to send. If it is after the end of the file, nothing is sent.
    ///   - limit: The maximum number of bytes to send.
    convenience init(
        path: String, type: String = "application/octet-stream", from start: Int64 = 0, limit: Int64 = .max
    ) throws(Problem) {
        self.init([try Self.opened(path)], type, from: start, limit: limit)
    }

    /// Creates a response with the two halves of a log. When the newer half is full, the log's writer renames it to the
    /// older half and starts a new half.
    ///
    /// - Parameter halves: The paths of the halves, the older one first. One of the files may be missing.
    convenience init(
        halves: [String], type: String, from start: Int64 = 0, limit: Int64 = .max
    ) throws(Problem) {
        var files: [File] = []
        var missing = Problem.notFound("The file does not exist.")
        // The loop repeats if a half was renamed between the two calls to open. Logs are not written fast enough to
        // cause many repetitions.
        for _ in 0..<100 {
            for file in files { close(file.descriptor) }
            // The newer half is opened first. If it is renamed after that, the older name leads to the same file, and
            // the round is repeated.
            files = []
            var newer: UInt64?
            for path in halves.reversed() {
                do throws(Problem) {
                    files.insert(try Self.opened(path), at: 0)
                    if path == halves.last { newer = files[0].inode }
                } catch {
                    missing = error
                }
            }
            if newer == halves.last.flatMap(Self.inode(of:)), Set(files.map(\.inode)).count == files.count { break }
        }
        guard !files.isEmpty else { throw missing }
        self.init(files, type, from: start, limit: limit)
    }

    private init(_ files: [File], _ type: String, from start: Int64, limit: Int64) {
        self.files = files
        self.type = type
        let size = files.reduce(0) { $0 + $1.size }
        let first = min(start, size)
        range = first..<first + min(limit, size - first)
    }

    deinit {
        for file in files { close(file.descriptor) }
    }

    private static func opened(_ path: String) throws(Problem) -> File {
        // O_NONBLOCK prevents waiting for a writer if the file is a FIFO.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            let error = errno
            if error == ENOENT { throw .notFound("The file '\(path)' no longer exists.") }
            throw .unavailable("The file '\(path)' cannot be read: \(String(cString: strerror(error))).")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .conflict("'\(path)' is not a regular file.")
        }
        return File(descriptor: descriptor, size: Int64(status.st_size), inode: UInt64(status.st_ino))
    }

    private static func inode(of path: String) -> UInt64? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Returns the whole content, or nil if it has more than `limit` bytes.
    func bytes(limit: Int) async throws -> [UInt8]? {
        guard range.count <= limit else { return nil }
        var bytes: [UInt8] = []
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = try await read(at: offset)
            offset += Int64(piece.readableBytes)
            bytes += piece.readableBytesView
        }
        return bytes
    }

    var response: Response {
        var headers = HTTPFields.common
        headers[.contentType] = type
        // Browsers must not guess the type of files that other programs have written.
        headers[.xContentTypeOptions] = "nosniff"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(contentLength: range.count) { writer in
                var offset = self.range.lowerBound
                while offset < self.range.upperBound {
                    let piece = try await self.read(at: offset)
                    offset += Int64(piece.readableBytes)
                    try await writer.write(piece)
                }
                try await writer.finish(nil)
            })
    }

    /// Returns the next piece. Throws if the file was truncated, so that the connection breaks and the client does not
    /// receive wrong bytes.
    private func read(at offset: Int64) async throws -> ByteBuffer {
        var (index, place) = (0, offset)
        while place >= files[index].size {
            place -= files[index].size
            index += 1
        }
        let file = files[index]
        let from = place
        let wanted = Int(min(Int64(Self.piece), range.upperBound - offset, file.size - place))
        return try await NIOThreadPool.singleton.runIfActive {
            var buffer = ByteBufferAllocator().buffer(capacity: wanted)
            let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { bytes in
                let count = pread(file.descriptor, bytes.baseAddress, wanted, off_t(from))
                guard count > 0 else {
                    throw LocalAPIError(.system, "A file became shorter while it was being sent.")
                }
                return count
            }
            precondition(count == buffer.readableBytes)
            return buffer
        }
    }
}
