import NightshiftAPI
import NightshiftCurl
import Transfers

/// A receiver for the body of one response.
enum BodySink {
    case file(FileBody)
    case memory(MemoryBody)
    /// Discards the body. Up to `rest` more bytes are read so that the connection can be reused. If more bytes remain,
    /// a new connection is cheaper.
    case discard(rest: Int64, count: Int64 = 0)

    static let cheapRest: Int64 = 262_144

    enum Answer {
        case taken
        /// The bytes were accepted, and some of them are in memory until ``BodySink/settle()``.
        case held
        /// A limit was reached. libcurl must deliver the same bytes again later.
        case full
        /// The receiver needs no more bytes.
        case enough
        case failed(TransferFailure)
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) -> Answer {
        switch self {
        case .file(var body):
            let answer = body.write(bytes)
            self = .file(body)
            return answer
        case .memory(var body):
            // `self` is emptied first. Otherwise, appending to the body would copy it.
            self = .discard(rest: 0)
            if body.append(bytes) {
                self = .memory(body)
                return .taken
            }
            switch body.overflow() {
            case .failure(let failure): return .failed(failure)
            case .success(let sink):
                self = .file(FileBody(sink))
                let answer = body.kept.withUnsafeBytes { write($0) }
                switch answer {
                case .taken, .held: return write(bytes)
                case .full, .enough, .failed: return answer
                }
            }
        case .discard(let rest, let count):
            self = .discard(rest: rest - Int64(bytes.count), count: count + Int64(bytes.count))
            return rest >= bytes.count ? .taken : .enough
        }
    }

    /// Writes the bytes that are in memory.
    mutating func settle() -> Answer {
        guard case .file(var body) = self else { return .taken }
        let answer = body.settle()
        self = .file(body)
        return answer
    }

    func takesRest(_ bytes: Int64) -> Bool {
        if case .file(let body) = self { body.takesRest(bytes) } else { false }
    }

    mutating func write(_ body: CurlSocketBody, atMost count: Int) -> Answer {
        guard case .file(var file) = self else { return .enough }
        let answer = file.move(body, atMost: count)
        self = .file(file)
        return answer
    }

    var kept: [UInt8] {
        if case .memory(let body) = self { body.kept } else { [] }
    }

    var receivedBytes: Int64 {
        switch self {
        case .file(let body): body.receivedBytes
        case .memory(let body): Int64(body.kept.count)
        case .discard(_, let count): count
        }
    }
}

/// A short body that is collected in memory.
struct MemoryBody {
    private(set) var kept: [UInt8] = []
    let limit: Int
    let overflow: @Sendable () -> Result<FileSink, TransferFailure>

    init(limit: Int, overflow: @escaping @Sendable () -> Result<FileSink, TransferFailure>) {
        self.limit = limit
        self.overflow = overflow
    }

    /// Appends bytes to the body.
    ///
    /// - Returns: Whether all bytes fit. If the bytes do not fit, none of them is appended.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= limit - kept.count else { return false }
        kept.append(contentsOf: bytes)
        return true
    }
}
