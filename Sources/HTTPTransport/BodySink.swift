import NightshiftAPI
import NightshiftCurl
import Transfers

/// Takes the bytes of one response's body.
enum BodySink {
    case file(FileBody)
    case memory([UInt8], limit: Int, count: Int64)
    /// `rest` bytes are still read so that the connection can be used again; a new connection is cheaper than more.
    case discard(rest: Int64, count: Int64 = 0)

    static let cheapRest: Int64 = 262_144

    enum Answer {
        case taken
        /// The ceiling is reached; the same bytes are to come again.
        case full
        /// No more is wanted.
        case enough
        case failed(TransferFailure)
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) -> Answer {
        switch self {
        case .file(var body):
            let answer = body.write(bytes)
            self = .file(body)
            return answer
        case .memory(var kept, let limit, let count):
            // Emptied first, so that growing it does not copy it.
            self = .discard(rest: 0)
            kept.append(contentsOf: bytes.prefix(max(0, limit - kept.count)))
            self = .memory(kept, limit: limit, count: count + Int64(bytes.count))
            return .taken
        case .discard(let rest, let count):
            self = .discard(rest: rest - Int64(bytes.count), count: count + Int64(bytes.count))
            return rest >= bytes.count ? .taken : .enough
        }
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
        if case .memory(let kept, _, _) = self { kept } else { [] }
    }

    var receivedBytes: Int64 {
        switch self {
        case .file(let body): body.receivedBytes
        case .memory(_, _, let count), .discard(_, let count): count
        }
    }
}
