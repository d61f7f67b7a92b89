import CNightshift
import Glibc
import NightshiftAPI
import NightshiftCurl
import Transfers

/// A writer that passes a body to a ``FileSink`` as it arrives, without a buffer of its own. `pwrite` gets the bytes
/// directly from libcurl. If libcurl leaves bytes in the socket, they are moved from the socket to the file.
struct FileBody {
    private let sink: FileSink
    private var position: Int64
    /// The offset at which the response ends according to its head.
    private let announcedEnd: Int64
    /// The number of bytes that were already written before a pause and that libcurl delivers again after it.
    private var skipped = 0
    private var writtenBackTo: Int64

    /// The number of bytes after which the kernel is asked to start writing to disk. The final sync then has little
    /// left to write.
    private static let writebackBytes: Int64 = 8 << 20

    init(_ sink: FileSink) {
        self.sink = sink
        position = sink.position.value
        announcedEnd = sink.length.map { sink.offset + $0 } ?? .max
        writtenBackTo = position
    }

    var receivedBytes: Int64 { position - sink.offset + (sink.overlap?.compared ?? 0) }

    mutating func write(_ bytes: UnsafeRawBufferPointer) -> BodySink.Answer {
        var done = min(skipped, bytes.count)
        skipped -= done
        if let overlap = sink.overlap {
            guard let compared = overlap.compare(UnsafeRawBufferPointer(rebasing: bytes[done...])) else {
                return .failed(overlap.failure)
            }
            done += compared
        }
        while done < bytes.count {
            let wanted = sink.end.value
            if position >= wanted { return .enough }
            guard position < announcedEnd else {
                return .failed(
                    TransferFailure(
                        .protocolError,
                        "The server sent more than the \(announcedEnd - sink.offset) bytes that it had announced."))
            }
            let room = min(sink.ceiling.value, announcedEnd, wanted) - position
            guard room > 0 else {
                skipped = done
                return .full
            }
            let count = Int(min(Int64(bytes.count - done), room))
            let written = pwrite(sink.descriptor, bytes.baseAddress.map { $0 + done }, count, Int(position))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return .failed(Self.failure(written < 0 ? errno : EIO)) }
            done += written
            position += Int64(written)
            sink.position.value = position
        }
        startWriteback()
        return isPastEnd ? .enough : .taken
    }

    /// Returns whether the rest of the body can be moved from the socket to the file. This requires that the body ends
    /// at the announced end of the response.
    func takesRest(_ bytes: Int64) -> Bool { announcedEnd == .max || announcedEnd - position == bytes }

    mutating func move(_ body: CurlSocketBody, atMost count: Int) -> BodySink.Answer {
        let wanted = sink.end.value
        if position >= wanted { return .enough }
        let room = min(sink.ceiling.value, wanted) - position
        guard room > 0 else { return .full }
        let move = body.move(to: sink.descriptor, at: position, atMost: Int(min(Int64(count), room)))
        position += Int64(move.bytes)
        sink.position.value = position
        guard move.error == 0 else { return .failed(Self.failure(move.error)) }
        startWriteback()
        return body.rest > 0 && position >= sink.end.value ? .enough : .taken
    }

    private mutating func startWriteback() {
        if position - writtenBackTo >= Self.writebackBytes {
            // This is only a hint. A file system that does not support it writes everything at the final sync.
            _ = nightshift_start_writeback(sink.descriptor, writtenBackTo, position - writtenBackTo)
            writtenBackTo = position
        }
    }

    /// Whether the file needs no more bytes, although the response continues. If the response ends at the same
    /// position, its connection can be used again.
    private var isPastEnd: Bool { position < announcedEnd && position >= sink.end.value }

    private static func failure(_ error: Int32) -> TransferFailure {
        let reason = String(cString: strerror(error))
        return switch error {
        case ENOSPC: TransferFailure(.diskFull, "The disk is full: \(reason).")
        case EDQUOT: TransferFailure(.diskFull, "Your quota on this disk is used up: \(reason).")
        case EFBIG: FileSizeLimit.failure(end: nil, limit: FileSizeLimit.current)
        default: TransferFailure(.inputOutput, "The file could not be written: \(reason).")
        }
    }
}
