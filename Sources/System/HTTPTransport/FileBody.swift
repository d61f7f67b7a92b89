import CNightshift
import Glibc
import NightshiftAPI
import NightshiftCurl
import Transfers

/// A writer that passes a body to a ``FileSink`` as it arrives. `pwrite` gets the bytes directly from libcurl. If libcurl
/// leaves bytes in the socket, they are moved from the socket to the file. If libcurl delivers a large body in small
/// pieces, the writer gathers them, because a larger write costs less processor time per byte.
struct FileBody {
    private let sink: FileSink
    private var position: Int64
    /// The offset at which the response ends according to its head.
    private let announcedEnd: Int64
    /// The number of bytes that were already written before a pause and that libcurl delivers again after it.
    private var skipped = 0
    private var writtenBackTo: Int64
    /// The bytes that were accepted and are not in the file yet; nil if every piece is written at once.
    private let gathered: GatheredBytes?

    /// The size from which a body is gathered. The memory for a smaller one costs more than it saves.
    private static let gatheredBodyBytes: Int64 = 1 << 20
    /// The number of bytes after which the kernel is asked to start writing to disk. The final sync then has little
    /// left to write.
    private static let writebackBytes: Int64 = 8 << 20

    /// - Parameter gathers: Whether libcurl delivers the body in small pieces.
    init(_ sink: FileSink, gathers: Bool = false) {
        self.sink = sink
        position = sink.position.value
        announcedEnd = sink.length.map { sink.offset + $0 } ?? .max
        writtenBackTo = position
        gathered = gathers && sink.length ?? .max >= Self.gatheredBodyBytes ? GatheredBytes() : nil
    }

    var receivedBytes: Int64 { next - sink.offset + (sink.overlap?.compared ?? 0) }

    /// The file offset of the next byte to accept.
    private var next: Int64 { position + Int64(gathered?.count ?? 0) }

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
            let (next, wanted) = (next, sink.end.value)
            if next >= wanted { return settled(.enough) }
            guard next < announcedEnd else {
                return settled(
                    .failed(
                        TransferFailure(
                            .protocolError,
                            "The server sent more than the \(announcedEnd - sink.offset) bytes that it had announced."))
                )
            }
            let room = min(sink.ceiling.value, announcedEnd, wanted) - next
            guard room > 0 else {
                skipped = done
                return settled(.full)
            }
            let piece = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(Int(clamping: room)))
            if let gathered {
                done += gathered.append(piece)
                if gathered.isFull, let failure = writeGathered() { return .failed(failure) }
            } else {
                if let failure = put(piece) { return .failed(failure) }
                done += piece.count
            }
        }
        if isPastEnd { return settled(.enough) }
        return (gathered?.count ?? 0) > 0 ? .held : .taken
    }

    /// Writes the gathered bytes.
    mutating func settle() -> BodySink.Answer { settled(.taken) }

    /// Writes the gathered bytes, and returns the answer unless this fails.
    private mutating func settled(_ answer: BodySink.Answer) -> BodySink.Answer {
        writeGathered().map { .failed($0) } ?? answer
    }

    private mutating func writeGathered() -> TransferFailure? {
        guard let gathered, gathered.count > 0 else { return nil }
        defer { gathered.removeAll() }
        // The end may have moved before bytes that were accepted earlier.
        let wanted = gathered.bytes.prefix(Int(clamping: max(0, sink.end.value - position)))
        return put(UnsafeRawBufferPointer(rebasing: wanted))
    }

    /// Writes bytes at the position.
    private mutating func put(_ bytes: UnsafeRawBufferPointer) -> TransferFailure? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let written = pwrite(sink.descriptor, piece.baseAddress, piece.count, Int(position))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return Self.failure(written < 0 ? errno : EIO) }
            rest = rest.dropFirst(written)
            advance(written)
        }
        return nil
    }

    private mutating func advance(_ count: Int) {
        position += Int64(count)
        sink.position.value = position
        startWriteback()
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
        advance(move.bytes)
        guard move.error == 0 else { return .failed(Self.failure(move.error)) }
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
    private var isPastEnd: Bool { next < announcedEnd && next >= sink.end.value }

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

/// Memory for bytes that are written together.
private final class GatheredBytes {
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: GatheredBytes.capacity, alignment: 4_096)
    private(set) var count = 0

    /// Larger writes save nothing more.
    private static let capacity = 256 << 10

    deinit { memory.deallocate() }

    var isFull: Bool { count == memory.count }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Appends as many bytes as fit, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let piece = bytes.prefix(memory.count - count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: piece))
        count += piece.count
        return piece.count
    }

    func removeAll() { count = 0 }
}
