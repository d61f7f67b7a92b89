import NightshiftAPI
import Transfers

/// A server of resumable uploads that stores bytes and misbehaves at random.
///
/// The server may lose bytes, refuse, send wrong fields, break connections and send invalid responses. It reports an
/// upload as complete only if it is.
struct UploadServerModel {
    enum Dialect: CaseIterable {
        case unaware
        case exactly3, exactly5, exactly6, exactly8
        /// The server of NIO: it supports versions 3, 5 and 6, responds with 400 to others, and its final responses
        /// have the other version's field.
        case nio
        case tus
    }

    let dialect: Dialect
    let length: Int64
    /// The largest number of bytes in the content of one request.
    let maximumPart: Int64?
    let announcesLimit: Bool
    let sendsInterim: Bool
    /// The probability of misbehaviour for each request.
    var trouble: Double
    private(set) var kept: [String: [UInt8]] = [:]
    private(set) var complete: Set<String> = []
    /// The bodies that reached the target completely.
    private(set) var delivered: [[UInt8]] = []
    private var names = 0

    init(_ random: inout ExchangeRandom, length: Int64) {
        dialect = Dialect.allCases[random.number(0..<Dialect.allCases.count)]
        self.length = length
        maximumPart = random.chance(0.3) ? Int64(random.number(5..<40)) : nil
        announcesLimit = random.chance(0.7)
        sendsInterim = random.chance(0.8)
        trouble = random.chance(0.2) ? 0 : 0.3
    }

    /// An event that the client sees, in order.
    enum Event {
        /// An interim response after this many bytes of content.
        case interim(ResponseHead, after: Int)
        case final(ResponseHead)
        /// A captive portal has answered, and the network reports it.
        case page(ResponseHead)
        case broken
    }

    mutating func answer(_ request: UploadRequest, _ content: [UInt8], _ random: inout ExchangeRandom) -> [Event] {
        let version = request.headers.first("Upload-Draft-Interop-Version").flatMap { Int($0) }
        let isTus = request.headers.first("Tus-Resumable") != nil
        if random.chance(trouble * 0.3) { return [.broken] }
        if random.chance(trouble * 0.3) {
            let status = [429, 500, 502, 503, 423, 408][random.number(0..<6)]
            return [.final(head(status, [:], request))]
        }
        if request.purpose != .create, random.chance(trouble * 0.2) {
            let fields = [HeaderField(name: "Content-Type", value: "text/html")]
            let status = [200, 204, 403, 404][random.number(0..<4)]
            return [
                .page(
                    ResponseHead(
                        status: status, headers: fields, httpVersion: "1.1", url: request.url, method: request.method))
            ]
        }
        if random.chance(trouble * 0.1), let name = kept.keys.sorted().first {
            kept[name] = nil
        }
        if dialect == .unaware { return plain(request, content, &random) }
        guard isTus == (dialect == .tus), version.map(speaks) ?? isTus else {
            guard let version, !speaks(version) else { return plain(request, content, &random) }
            return dialect == .tus
                ? [.final(head(412, ["Tus-Resumable": "1.0.0"], request))]
                : [.final(head(400, ["Upload-Draft-Interop-Version": "\(preferred)"], request))]
        }
        switch request.purpose {
        case .create: return create(request, content, &random)
        case .query: return query(request, &random)
        case .append: return append(request, content, &random)
        case .cancel:
            kept[request.url] = nil
            return [.final(head(204, [:], request))]
        }
    }

    private var preferred: Int {
        switch dialect {
        case .exactly3: 3
        case .exactly5: 5
        case .exactly6, .nio: 6
        default: 8
        }
    }

    private func speaks(_ version: Int) -> Bool {
        dialect == .nio ? [3, 5, 6].contains(version) : dialect != .tus && version == preferred
    }

    // MARK: - Requests

    private mutating func plain(
        _ request: UploadRequest, _ content: [UInt8], _ random: inout ExchangeRandom
    ) -> [Event] {
        guard request.purpose == .create else { return [.final(head(404, [:], request))] }
        if random.chance(trouble) { return [.broken] }
        delivered.append(content)
        return [.final(head(201, [:], request))]
    }

    private mutating func create(
        _ request: UploadRequest, _ content: [UInt8], _ random: inout ExchangeRandom
    ) -> [Event] {
        names += 1
        let name = "https://example.org/uploads/\(names)"
        var limits: [String: String] = [:]
        if announcesLimit, let maximumPart { limits["Upload-Limit"] = "max-append-size=\(maximumPart)" }
        if dialect == .tus {
            kept[name] = []
            if length == 0 { delivered.append([]) }
            return [.final(head(201, ["Location": name], request))]
        }
        if let maximumPart, content.count > maximumPart, !sendsInterim {
            return [.final(head(413, limits, request))]
        }
        kept[name] = []
        var events: [Event] = []
        if sendsInterim {
            events.append(.interim(head(104, limits.merging(["Location": name]) { $1 }, request), after: 0))
        }
        let rest = receive(name, request, content, &random)
        guard case .final(var last)? = rest.last else { return events + rest }
        if !request.completes { last.headers.append(HeaderField(name: "Location", value: name)) }
        return events + rest.dropLast() + [.final(last)]
    }

    private mutating func query(_ request: UploadRequest, _ random: inout ExchangeRandom) -> [Event] {
        guard let bytes = kept[request.url] else { return [.final(head(404, [:], request))] }
        // The server has lost some bytes, and reports that.
        if random.chance(trouble * 0.1), !complete.contains(request.url) {
            kept[request.url] = bytes.dropLast(random.number(0..<bytes.count + 1))
        }
        var fields = ["Upload-Offset": "\(kept[request.url]?.count ?? 0)"]
        if random.chance(0.5) { fields["Upload-Length"] = "\(length)" }
        if random.chance(trouble * 0.1) {
            fields["Upload-Offset"] = ["", "-1", "x", "\(length + 1)"][random.number(0..<4)]
        }
        return [.final(head(204, fields.merging(completeness(complete.contains(request.url))) { $1 }, request))]
    }

    private mutating func append(
        _ request: UploadRequest, _ content: [UInt8], _ random: inout ExchangeRandom
    ) -> [Event] {
        guard let bytes = kept[request.url] else { return [.final(head(404, [:], request))] }
        let offset = request.headers.first("Upload-Offset").flatMap { Int($0) }
        guard !complete.contains(request.url), offset == bytes.count else {
            if dialect == .nio { kept[request.url] = nil }
            let fields = ["Upload-Offset": "\(bytes.count)"].merging(completeness(false)) { $1 }
            return [.final(head(409, random.chance(0.8) ? fields : [:], request))]
        }
        return receive(request.url, request, content, &random)
    }

    /// Stores the content that arrives.
    private mutating func receive(
        _ name: String, _ request: UploadRequest, _ content: [UInt8], _ random: inout ExchangeRandom
    ) -> [Event] {
        var content = content[...]
        let isTooLarge = maximumPart.map { content.count > $0 } ?? false
        if isTooLarge { content = content.prefix(random.number(0..<Int(maximumPart ?? 1) + 1)) }
        let breaks = random.chance(trouble)
        if breaks { content = content.prefix(random.number(0..<content.count + 1)) }
        kept[name, default: []] += content
        let count = kept[name]?.count ?? 0
        var events: [Event] = []
        if sendsInterim, dialect != .tus, random.chance(0.5) {
            events.append(.interim(head(104, ["Upload-Offset": "\(count)"], request), after: content.count))
        }
        // In tus the last byte completes an upload. In the draft the end of the request declares that the upload is
        // complete.
        let isComplete = dialect == .tus ? count == length : request.completes && !breaks && !isTooLarge
        if isComplete {
            complete.insert(name)
            delivered.append(kept[name] ?? [])
        }
        // The response may also be lost.
        if breaks || isComplete && random.chance(trouble * 0.5) { return events + [.broken] }
        if isTooLarge { return events + [.final(head(413, [:], request))] }
        var fields = random.chance(0.7) || !isComplete ? ["Upload-Offset": "\(count)"] : [:]
        if dialect == .tus { fields["Upload-Offset"] = "\(count)" }
        fields.merge(completeness(isComplete, isFinal: true)) { $1 }
        return events + [.final(head(isComplete ? 200 : 204, fields, request))]
    }

    // MARK: - Response fields

    private func completeness(_ isComplete: Bool, isFinal: Bool = false) -> [String: String] {
        let old = ["Upload-Incomplete": isComplete ? "?0" : "?1"]
        let new = ["Upload-Complete": isComplete ? "?1" : "?0"]
        switch dialect {
        case .exactly3: return old
        case .nio: return isFinal && isComplete ? old : new
        case .tus, .unaware: return [:]
        default: return new
        }
    }

    private func head(_ status: Int, _ fields: [String: String], _ request: UploadRequest) -> ResponseHead {
        var fields = fields
        if dialect != .unaware, dialect != .tus, fields["Upload-Draft-Interop-Version"] == nil {
            fields["Upload-Draft-Interop-Version"] = request.headers.first("Upload-Draft-Interop-Version")
        }
        return ResponseHead(
            status: status, headers: fields.map { HeaderField(name: $0.key, value: $0.value) }, httpVersion: "1.1",
            url: request.url, method: request.method)
    }
}
