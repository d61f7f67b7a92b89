import NightshiftAPI
import TestSupport
import Transfers

/// A scripted origin's response to one request: a head, then bytes of a content, then an end.
struct ScriptedAnswer: Sendable {
    var head: ResponseHead
    var content: SeededContent
    /// The offset of the first byte of the content that the response sends.
    var offset: Int64 = 0
    /// The number of bytes that the response sends.
    var count: Int64 = 0
    var ending: Ending = .complete
    /// Whether the resource changes to its next version once the bytes are sent.
    var replaces = false

    enum Ending: Sendable {
        case complete
        case fails(TransferFailure)
        /// The connection stays open, but no more bytes arrive.
        case silence
    }
}

extension ScriptedVersion {
    /// Returns the response to `request` in an exchange with this behaviour.
    func answer(_ request: WireRequest, _ behaviour: ScriptedBehaviour, date: String) -> ScriptedAnswer {
        if case .status(let status, let retryAfter) = behaviour {
            var fields = [HeaderField(name: "Date", value: date), HeaderField(name: "Content-Length", value: "0")]
            if let retryAfter { fields.append(HeaderField(name: "Retry-After", value: retryAfter)) }
            return ScriptedAnswer(head: head(status, fields, request), content: content)
        }
        if case .says(let status, let fields) = behaviour {
            let all = fields.merging(["Date": date, "Content-Length": "0"]) { first, _ in first }
            return ScriptedAnswer(head: head(status, HeaderField.list(all), request), content: content)
        }
        if behaviour == .page {
            let page = SeededContent(seed: 4_711, size: 18)
            let fields = ["Date": date, "Content-Type": "text/html", "Content-Length": "18"]
            return ScriptedAnswer(
                head: head(200, HeaderField.list(fields), request), content: page, count: page.size)
        }
        let size = content.size
        let asked = request.headers.first("Range").flatMap(Self.range)
        let wanted = asked?.first
        let isRange =
            wanted != nil && acceptsRanges && satisfies(request.headers.first("If-Range")) && behaviour != .ignoreRange
        guard let wanted, isRange else { return whole(request, behaviour, date: date) }
        guard wanted < size, behaviour != .unsatisfiable else {
            var fields = [HeaderField(name: "Date", value: date), HeaderField(name: "Content-Length", value: "0")]
            if behaviour != .unsatisfiable {
                fields.append(HeaderField(name: "Content-Range", value: "bytes */\(size)"))
            }
            return ScriptedAnswer(head: head(416, fields + validators, request), content: content)
        }
        return part(request, from: wanted, to: min(size, asked?.end ?? size), behaviour, date: date)
    }

    private func whole(_ request: WireRequest, _ behaviour: ScriptedBehaviour, date: String) -> ScriptedAnswer {
        var fields = [HeaderField(name: "Date", value: date)] + self.fields
        if behaviour == .twoLengths {
            fields.append(HeaderField(name: "Content-Length", value: "\(content.size + 1_000)"))
        }
        if announcesLength { fields.append(HeaderField(name: "Content-Length", value: "\(content.size)")) }
        var answer = ScriptedAnswer(head: head(200, fields, request), content: content, count: content.size)
        answer.go(behaviour, announced: announcesLength)
        return answer
    }

    private func part(
        _ request: WireRequest, from wanted: Int64, to end: Int64, _ behaviour: ScriptedBehaviour, date: String
    ) -> ScriptedAnswer {
        let size = content.size
        var first = wanted
        var total = size
        switch behaviour {
        case .earlyPart(let distance): first = max(0, wanted - distance)
        case .latePart: first = min(size - 1, wanted + 1)
        case .wrongTotal: total = size + 1
        default: break
        }
        let length = max(first + 1, end) - first
        var fields = [
            HeaderField(name: "Date", value: date),
            HeaderField(name: "Content-Range", value: "bytes \(first)-\(first + length - 1)/\(total)"),
            HeaderField(name: "Content-Length", value: "\(length)"),
        ]
        if behaviour != .anonymousPart { fields += self.fields }
        var answer = ScriptedAnswer(head: head(206, fields, request), content: content, offset: first, count: length)
        answer.go(behaviour, announced: true)
        return answer
    }

    private var validators: [HeaderField] { fields.filter { $0.name != "Accept-Ranges" } }

    private func head(_ status: Int, _ fields: [HeaderField], _ request: WireRequest) -> ResponseHead {
        ResponseHead(status: status, headers: fields, httpVersion: "1.1", url: request.url, method: request.method)
    }

    /// Returns the range that a field such as `bytes=1000-` or `bytes=1000-1999` requests: the first byte, and the
    /// offset after the last one.
    private static func range(_ field: String) -> (first: Int64, end: Int64?)? {
        guard field.hasPrefix("bytes=") else { return nil }
        let bounds = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = Int64(bounds[0]) else { return nil }
        return (first, Int64(bounds[1]).map { $0 + 1 })
    }
}

extension HeaderField {
    /// Returns the fields as a list. The order is free, because their names differ.
    static func list(_ fields: [String: String]) -> [HeaderField] {
        fields.map { HeaderField(name: $0.key, value: $0.value) }
    }
}

extension ScriptedAnswer {
    private static let broken = TransferFailure(.connectionLost, "The connection was reset.")

    fileprivate mutating func go(_ behaviour: ScriptedBehaviour, announced: Bool) {
        let all = count
        switch behaviour {
        case .stall(let bytes):
            count = min(all, bytes)
            ending = .silence
        case .cut(let bytes):
            count = min(all, bytes)
            ending = .fails(Self.broken)
        case .short(let bytes) where announced:
            count = min(all, bytes)
            // A transport notices a body that is shorter than its length.
            if count < all { ending = .fails(TransferFailure(.truncated, "The body ended early.")) }
        case .short(let bytes):
            // Without a length only a broken connection shows that the body ended early.
            count = min(all, bytes)
            if count < all { ending = .fails(Self.broken) }
        case .long(let bytes) where announced:
            count = all + bytes
        case .replaced(let bytes):
            count = min(all, bytes)
            ending = .fails(Self.broken)
            replaces = true
        default: break
        }
    }
}
