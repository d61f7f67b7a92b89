import Foundation
import NightshiftAPI

/// A response to send, right or wrong, with the events during its transfer.
struct ResponsePlan {
    var opening = Opening.respond
    var interim: [Int] = []
    /// The line that is sent instead of a correct status line.
    var statusLine: String?
    var version = "HTTP/1.1"
    var status: Int
    var fields: [HTTPField] = []
    var headIsEndless = false
    var body: [BodyPart] = []
    /// Whether the fields of a body are sent without the body, as for HEAD.
    var omitsBody = false
    var framing = Framing.contentLength
    /// The number of bytes by which `Content-Length` exceeds the body's length.
    var lengthError: Int64 = 0
    var pace: Pace?
    var events: [BodyEvent] = []
    /// Whether this is a refusal, which a client that waits for `100 Continue` gets at once, before it sends its body.
    var isFinalBeforeBody = false

    enum Opening {
        case respond, stall, close, reset
        case hold(Gate)
    }

    enum Framing: Equatable {
        case contentLength, chunked, chunkedWithoutEnd, untilClose, none
    }

    enum BodyPart {
        case bytes([UInt8])
        case content(Content, Range<Int64>)

        var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .content(_, let range): range.upperBound - range.lowerBound
            }
        }
    }

    struct Pace {
        var bytesPerSecond: Int64
        var pieceSize: Int
    }

    /// An event that happens once this many bytes of the body are sent.
    struct BodyEvent {
        var after: Int64
        var kind: Kind

        enum Kind {
            case cut, reset, stall
            case hold(Gate)
            case swap(Resource)
        }
    }

    var bodyLength: Int64 { body.reduce(0) { $0 + $1.length } }

    /// The offset in the resource at which the body starts.
    var firstOffset: Int64 {
        if case .content(_, let range)? = body.first { range.lowerBound } else { 0 }
    }

    /// Creates a short response that does not serve the resource.
    init(status: Int, fields: [HTTPField] = [], text: String = "") {
        self.status = status
        self.fields = fields
        body = [.bytes(Array(text.utf8))]
        isFinalBeforeBody = status >= 300
        if !text.isEmpty { self.fields.append(HTTPField("Content-Type", "text/plain")) }
    }

    /// Returns the bytes before the body.
    func head() -> String {
        var lines = interim.map { "HTTP/1.1 \($0) \(Self.phrase($0))\r\n\(Self.interimFields($0))\r\n" }.joined()
        lines += statusLine ?? "\(version) \(status) \(Self.phrase(status))"
        lines += "\r\n"
        var fields = fields
        if fields.first("Date") == nil {
            fields.insert(HTTPField("Date", HTTPDate.format(Date().timeIntervalSince1970)), at: 0)
        }
        switch framing {
        case .contentLength: fields.set("Content-Length", "\(bodyLength + lengthError)")
        case .chunked, .chunkedWithoutEnd: fields.set("Transfer-Encoding", "chunked")
        case .untilClose: fields.set("Connection", "close")
        case .none: break
        }
        for field in fields { lines += "\(field.name): \(field.value)\r\n" }
        return headIsEndless ? lines : lines + "\r\n"
    }

    private static func interimFields(_ status: Int) -> String {
        switch status {
        case 103: "Link: </style.css>; rel=preload\r\n"
        case 104: "Upload-Draft-Interop-Version: 6\r\n"
        default: ""
        }
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 102: "Processing"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 401: "Unauthorized"
        case 404: "Not Found"
        case 412: "Precondition Failed"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Status \(status)"
        }
    }
}
