import NightshiftAPI

/// A planner of the response to a request for a resource. It begins with the response of a correct server, and the
/// behaviours modify it.
struct ResponsePlanner {
    let request: OriginRequest
    let resource: Resource
    /// The behaviours that apply to this request, in order.
    let behaviours: [Behaviour]

    private var etag: String?
    private var lastModified: String?

    init(request: OriginRequest, resource: Resource, behaviours: [Behaviour]) {
        self.request = request
        self.resource = resource
        self.behaviours = behaviours
        etag = resource.etag
        lastModified = resource.lastModified.map { HTTPDate.format(Double($0)) }
        for behaviour in behaviours {
            switch behaviour {
            case .weakETag: etag = etag.map { $0.hasPrefix("W/") ? $0 : "W/\($0)" }
            case .noETag: etag = nil
            case .noLastModified: lastModified = nil
            case .noValidators: (etag, lastModified) = (nil, nil)
            case .changingETagPerRequest: etag = etag.map { "\($0.dropLast())-\(request.number)\"" }
            default: break
            }
        }
    }

    func plan() -> ResponsePlan {
        var plan = answer()
        if request.method == "HEAD" { plan.omitsBody = true }
        for behaviour in behaviours { Self.bend(&plan, by: behaviour) }
        return plan
    }

    // MARK: - Correct responses

    private func answer() -> ResponsePlan {
        switch request.method {
        case "GET", "HEAD": return representation()
        case "PUT": return ResponsePlan(status: 201, text: "stored\n")
        case "POST": return ResponsePlan(status: 200, text: "received\n")
        default: return ResponsePlan(status: 405, fields: [HTTPField("Allow", "GET, HEAD, PUT, POST")])
        }
    }

    private func representation() -> ResponsePlan {
        if let expected = request.field("If-Match"), expected != "*", !Self.tags(expected).contains(etag ?? "") {
            return ResponsePlan(status: 412)
        }
        if let known = request.field("If-None-Match"), known == "*" || matchesWeakly(known) {
            var plan = ResponsePlan(status: 304)
            plan.body = []
            plan.framing = .none
            plan.fields += validatorFields
            return plan
        }
        let size = resource.content.size
        guard let asked = rangeToHonour else { return whole() }
        guard let range = asked.within(size), !behaviours.contains(where: \.refusesRange) else {
            return ResponsePlan(status: 416, fields: [HTTPField("Content-Range", "bytes */\(size)")])
        }
        return partial(range)
    }

    private func whole() -> ResponsePlan {
        var plan = ResponsePlan(status: 200)
        plan.fields = representationFields
        plan.body = [.content(resource.content, 0..<resource.content.size)]
        addDigests(to: &plan, of: 0..<resource.content.size)
        return plan
    }

    private func partial(_ asked: Range<Int64>) -> ResponsePlan {
        let size = resource.content.size
        var range = asked
        for behaviour in behaviours {
            switch behaviour {
            case .earlyRange(let block): range = range.lowerBound / block * block..<range.upperBound
            case .shortRange(let bytes): range = range.lowerBound..<min(range.upperBound, range.lowerBound + bytes)
            default: break
            }
        }
        var plan = ResponsePlan(status: 206)
        plan.fields = representationFields
        plan.body = [.content(resource.content, range)]
        let last = range.upperBound - 1
        plan.fields.append(HTTPField("Content-Range", "bytes \(range.lowerBound)-\(last)/\(size)"))
        for case .lyingRange(let lie) in behaviours { lie.bend(&plan, range: range, of: resource) }
        addDigests(to: &plan, of: range)
        return plan
    }

    private var validatorFields: [HTTPField] {
        var fields: [HTTPField] = []
        if let etag { fields.append(HTTPField("ETag", etag)) }
        if let lastModified { fields.append(HTTPField("Last-Modified", lastModified)) }
        if let lastModified, behaviours.contains(where: \.datesLikeLastModified) {
            fields.append(HTTPField("Date", lastModified))
        }
        return fields
    }

    private var representationFields: [HTTPField] {
        validatorFields + [HTTPField("Content-Type", resource.contentType), HTTPField("Accept-Ranges", "bytes")]
    }

    // MARK: - Conditions

    /// The requested range, if the request has one and its condition holds.
    private var rangeToHonour: AskedRange? {
        guard request.method == "GET", let value = request.field("Range"), let range = AskedRange(value) else {
            return nil
        }
        let condition = request.field("If-Range")
        let isTag = condition?.hasSuffix("\"") == true
        for behaviour in behaviours {
            switch behaviour {
            case .ignoreRange: return nil
            case .ignoreRangeIfETagIfRange where isTag: return nil
            case .ignoreIfRange: return range
            default: break
            }
        }
        guard let condition else { return range }
        // The comparison is strong: a weak tag never matches (RFC 9110, section 13.1.5).
        let holds = isTag ? condition == etag && !condition.hasPrefix("W/") : condition == lastModified
        return holds ? range : nil
    }

    private func matchesWeakly(_ list: String) -> Bool {
        guard let etag else { return false }
        func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }
        return Self.tags(list).contains { opaque($0) == opaque(etag) }
    }

    private static func tags(_ list: String) -> [String] {
        list.split(separator: ",").map { String($0.drop { $0 == " " }) }
    }

    // MARK: - Digests

    private func addDigests(to plan: inout ResponsePlan, of range: Range<Int64>) {
        for behaviour in behaviours {
            switch behaviour {
            case .reprDigest(let right): plan.fields.append(digestField("Repr-Digest", right ? nil : 0..<0))
            case .contentDigest(let right): plan.fields.append(digestField("Content-Digest", right ? range : 0..<0))
            default: break
            }
        }
    }

    private func digestField(_ name: String, _ range: Range<Int64>?) -> HTTPField {
        HTTPField(name, "sha-256=:\(resource.content.sha256(range).base64):")
    }
}

/// A single requested range. Requests with several ranges are served whole, which HTTP allows.
private struct AskedRange {
    private var first: Int64?
    private var last: Int64?

    init?(_ value: String) {
        let parts = value.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0] == "bytes" else { return nil }
        let bounds = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        first = Int64(bounds[0])
        last = Int64(bounds[1])
        if first == nil && last == nil { return nil }
        if let first, let last, last < first { return nil }
    }

    /// Returns the range of bytes in a content of this length, or nil if it is empty.
    func within(_ size: Int64) -> Range<Int64>? {
        guard let first else {
            let suffix = min(last ?? 0, size)
            return suffix > 0 ? size - suffix..<size : nil
        }
        guard first < size else { return nil }
        return first..<min(size, (last ?? size - 1) + 1)
    }
}

extension Behaviour {
    fileprivate var refusesRange: Bool {
        if case .refuseRange = self { true } else { false }
    }

    fileprivate var datesLikeLastModified: Bool {
        if case .lastModifiedEqualsDate = self { true } else { false }
    }
}
