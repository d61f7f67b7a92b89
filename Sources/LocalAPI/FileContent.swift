import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import NightshiftAPI

/// A file or a part of it as an answer, read as the socket takes it.
final class FileContent: Sendable {
    private let descriptor: Int32
    private let type: String
    /// The bytes of the file that are sent.
    private let range: Range<Int64>

    /// Bytes read at a time: few system calls, little memory.
    private static let piece = 256 << 10

    /// - Parameters:
    ///   - start: The first byte that is sent; behind the end of the file there is nothing to send.
    ///   - limit: Bytes that are sent at most.
    init(
        path: String, type: String = "application/octet-stream", from start: Int64 = 0, limit: Int64 = .max
    ) throws(Problem) {
        self.type = type
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let error = errno
            if error == ENOENT { throw .notFound("The file '\(path)' is gone.") }
            throw .unavailable("The file '\(path)' cannot be read: \(String(cString: strerror(error))).")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .conflict("'\(path)' is not a file.")
        }
        let size = Int64(status.st_size)
        let first = min(start, size)
        range = first..<first + min(limit, size - first)
    }

    deinit {
        close(descriptor)
    }

    var response: Response {
        var headers = HTTPFields.common
        headers[.contentType] = type
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

    /// The next piece; throws where the file has become shorter, so that the connection breaks off instead of
    /// delivering what is no longer there.
    private func read(at offset: Int64) async throws -> ByteBuffer {
        let wanted = Int(min(Int64(Self.piece), range.upperBound - offset))
        return try await NIOThreadPool.singleton.runIfActive {
            var buffer = ByteBufferAllocator().buffer(capacity: wanted)
            let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { bytes in
                let count = pread(self.descriptor, bytes.baseAddress, wanted, off_t(offset))
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
