extension ResponsePlanner {
    /// Changes a correct response according to the behaviours.
    static func bend(_ plan: inout ResponsePlan, by behaviour: Behaviour) {
        switch behaviour {
        case .cutAfter(let bytes): plan.events.append(.init(after: bytes, kind: .cut))
        case .resetAfter(let bytes): plan.events.append(.init(after: bytes, kind: .reset))
        case .stallAfter(let bytes): plan.events.append(.init(after: bytes, kind: .stall))
        case .holdAfter(let bytes, let gate): plan.events.append(.init(after: bytes, kind: .hold(gate)))
        case .holdFrom(let offset, let gate):
            plan.events.append(.init(after: max(0, offset - plan.firstOffset), kind: .hold(gate)))
        case .swapDuringTransfer(let bytes, let next):
            plan.events.append(.init(after: bytes, kind: .swap(next)))
        case .throttle(let rate):
            plan.pace = .init(bytesPerSecond: rate, pieceSize: Int(clamping: min(max(rate / 50, 1), 256 << 10)))
        case .slowDrip(let rate):
            // More than a thousand writes a second would not make the rate more exact.
            plan.pace = .init(bytesPerSecond: rate, pieceSize: Int(clamping: max(rate / 1000, 1)))
        case .stallHead: plan.opening = .stall
        case .holdHead(let gate): plan.opening = .hold(gate)
        case .closeBeforeHead: plan.opening = .close
        case .resetBeforeHead: plan.opening = .reset
        case .contentLengthTooLong(let excess): plan.lengthError = excess
        case .contentLengthTooShort(let missing): plan.lengthError = -missing
        case .chunked(let lastChunk): plan.framing = lastChunk ? .chunked : .chunkedWithoutEnd
        case .closeDelimited: plan.framing = .untilClose
        case .http10: (plan.version, plan.fields) = ("HTTP/1.0", plan.fields + [HTTPField("Connection", "close")])
        case .gzipDespiteIdentity: plan.fields.set("Content-Encoding", "gzip")
        case .garbageStatusLine(let line): plan.statusLine = line
        case .hugeHeader(let bytes):
            plan.fields.append(HTTPField("X-Padding", String(repeating: "x", count: bytes)))
        case .endlessHeader: plan.headIsEndless = true
        case .interimResponses(let statuses): plan.interim += statuses
        case .field(let name, let value): plan.fields.set(name, value)
        case .contentDisposition(let value): plan.fields.set("Content-Disposition", value)
        default: break
        }
    }
}

extension LyingRange {
    func bend(_ plan: inout ResponsePlan, range: Range<Int64>, of resource: Resource) {
        let size = resource.content.size
        func contentRange(_ offset: Int64, _ total: Int64) -> String {
            "bytes \(range.lowerBound + offset)-\(range.upperBound - 1 + offset)/\(total)"
        }
        switch self {
        case .wrongStart(let distance):
            plan.fields.set("Content-Range", contentRange(distance, size))
        case .wrongTotal(let distance):
            plan.fields.set("Content-Range", contentRange(0, size + distance))
        case .wrongBytes(let distance):
            let length = range.upperBound - range.lowerBound
            let start = min(max(range.lowerBound + distance, 0), size - length)
            plan.body = [.content(resource.content, start..<start + length)]
        case .missingContentRange:
            plan.fields.remove("Content-Range")
        case .garbage:
            plan.fields.set("Content-Range", "bytes somewhere/unknown")
        case .multipart:
            let boundary = "between-the-parts"
            let head =
                "--\(boundary)\r\nContent-Type: \(resource.contentType)\r\n"
                + "Content-Range: \(contentRange(0, size))\r\n\r\n"
            plan.body = [.bytes(Array(head.utf8))] + plan.body + [.bytes(Array("\r\n--\(boundary)--\r\n".utf8))]
            plan.fields.remove("Content-Range")
            plan.fields.set("Content-Type", "multipart/byteranges; boundary=\(boundary)")
        }
    }
}
