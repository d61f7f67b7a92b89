/// A reader of HTTP/1.1 requests from a connection.
struct RequestReader {
    private let socket: Socket
    private var buffered: [UInt8] = []

    /// The limit on the size of a request's head, which no client in these tests exceeds.
    private static let headLimit = 256 << 10

    init(_ socket: Socket) {
        self.socket = socket
    }

    struct Head {
        var method: String
        var target: String
        var version: String
        var fields: [HTTPField]

        var expectsContinue: Bool { fields.first("Expect")?.lowercased() == "100-continue" }
        var isChunked: Bool { fields.first("Transfer-Encoding")?.lowercased().contains("chunked") == true }
        var contentLength: Int64 { fields.first("Content-Length").flatMap { Int64($0) } ?? 0 }
        var hasBody: Bool { isChunked || contentLength > 0 }

        var keepsConnection: Bool {
            let connection = fields.first("Connection")?.lowercased()
            return version == "HTTP/1.1" ? connection != "close" : connection == "keep-alive"
        }
    }

    /// Reads the next request's head. Returns nil at the connection's end or if it is not HTTP.
    mutating func head() -> Head? {
        var lines: [String] = []
        var size = 0
        while size < Self.headLimit {
            guard let line = line() else { return nil }
            size += line.utf8.count
            if !line.isEmpty {
                lines.append(line)
            } else if !lines.isEmpty {
                return Self.parse(lines)
            }
        }
        return nil
    }

    private static func parse(_ lines: [String]) -> Head? {
        let start = lines[0].split(separator: " ")
        guard start.count == 3, start[2].hasPrefix("HTTP/1.") else { return nil }
        var fields: [HTTPField] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(HTTPField(String(line[..<colon]), String(value)))
        }
        return Head(method: String(start[0]), target: String(start[1]), version: String(start[2]), fields: fields)
    }

    /// Passes the body's bytes to `take` as they arrive, until `take` returns false. Returns true if the whole body
    /// arrived.
    mutating func body(of head: Head, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard head.isChunked else { return bytes(head.contentLength, take) }
        while true {
            guard let line = line(), let size = Int64(line.prefix { $0 != ";" }, radix: 16) else { return false }
            if size == 0 { break }
            guard bytes(size, take), self.line() == "" else { return false }
        }
        while let trailer = line() {
            if trailer.isEmpty { return true }
        }
        return false
    }

    private mutating func bytes(_ count: Int64, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        var left = count
        if left > 0 && !buffered.isEmpty {
            let here = min(buffered.count, Int(clamping: left))
            let goesOn = buffered.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<here])) }
            buffered.removeFirst(here)
            left -= Int64(here)
            guard goesOn else { return false }
        }
        return withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            while left > 0 {
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, Int(clamping: left))])
                guard let count = socket.receive(into: room), count > 0 else { return false }
                left -= Int64(count)
                guard take(UnsafeRawBufferPointer(rebasing: room[..<count])) else { return false }
            }
            return true
        }
    }

    private mutating func line() -> String? {
        var searched = 0
        while true {
            if let end = buffered[searched...].firstIndex(of: 10) {
                var line = buffered[..<end]
                if line.last == 13 { line = line.dropLast() }
                let text = String(decoding: line, as: UTF8.self)
                buffered.removeFirst(end + 1)
                return text
            }
            searched = buffered.count
            guard searched < Self.headLimit else { return nil }
            let received = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { room -> [UInt8] in
                guard let count = socket.receive(into: room), count > 0 else { return [] }
                return Array(room[..<count])
            }
            guard !received.isEmpty else { return nil }
            buffered += received
        }
    }
}
