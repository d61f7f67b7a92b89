import Foundation
import NightshiftAPI

/// The state that the origin's connections share.
struct OriginState: Sendable {
    /// The resources by path. A path that ends in a slash also covers everything below it.
    private(set) var served: [String: Served] = [:]
    var requests: [OriginRequest] = []
    var totals: [String: OriginTotals] = [:]
    var overall = OriginTotals()
    var openConnections: [Int: Socket] = [:]
    var connectionCount = 0
    var isStopped = false
    private var nonces: Set<String> = []

    struct Served: Sendable {
        var resource: Resource
        /// The number of times that each behaviour could have applied.
        var offered: [Int]
        /// The number of times that each behaviour applied.
        var applied: [Int]
        var inFlight = 0

        init(_ resource: Resource) {
            self.resource = resource
            offered = resource.behaviours.map { _ in 0 }
            applied = offered
        }
    }

    mutating func serve(_ path: String, _ resource: Resource?) {
        guard let resource else {
            served[path] = nil
            return
        }
        var next = Served(resource)
        next.inFlight = served[path]?.inFlight ?? 0
        served[path] = next
    }

    /// Returns the path under which `path` is served.
    func key(for path: String) -> String? {
        if served[path] != nil { return path }
        return served.keys.filter { $0.hasSuffix("/") && path.hasPrefix($0) }.max { $0.count < $1.count }
    }

    // MARK: - Requests

    mutating func begin(_ head: RequestReader.Head, connection: Int) -> OriginRequest {
        let request = OriginRequest(
            number: requests.count, connection: connection, method: head.method, target: head.target,
            fields: head.fields, received: .now)
        requests.append(request)
        if let key = key(for: request.path) { served[key]?.inFlight += 1 }
        totals[request.path, default: OriginTotals()].began()
        overall.began()
        return request
    }

    mutating func finish(_ number: Int) {
        requests[number].isFinished = true
        let path = requests[number].path
        if let key = key(for: path) { served[key]?.inFlight -= 1 }
        totals[path]?.inFlight -= 1
        overall.inFlight -= 1
    }

    mutating func count(_ number: Int, _ change: (inout OriginTotals) -> Void) {
        change(&totals[requests[number].path, default: OriginTotals()])
        change(&overall)
    }

    // MARK: - Behaviours

    enum Decision {
        /// A response that replaces the resource's, and the behaviours that still modify it.
        case answer(ResponsePlan, [Behaviour])
        case resource(Resource, [Behaviour])
    }

    mutating func decide(_ request: OriginRequest, _ head: RequestReader.Head) -> Decision {
        guard let key = key(for: request.path), var served = served[key] else {
            return .answer(ResponsePlan(status: 404, text: "nothing here\n"), [])
        }
        defer { self.served[key] = served }
        var active: [Behaviour] = []
        for (index, entry) in served.resource.behaviours.enumerated() {
            let (scope, behaviour) = entry.unwrapped
            guard scope.methods?.contains(request.method) ?? true, behaviour.canApply(to: head) else { continue }
            let replacement = replacement(by: behaviour, request, inFlight: served.inFlight)
            if behaviour.replacesResource && replacement == nil { continue }
            served.offered[index] += 1
            guard served.offered[index] > scope.skipped, served.applied[index] < scope.times ?? .max else { continue }
            served.applied[index] += 1
            if let replacement { return .answer(replacement, active) }
            active.append(behaviour)
        }
        return .resource(served.resource, active)
    }

    /// Returns the response that a behaviour sends instead of the resource's, or nil if it lets this request pass.
    private mutating func replacement(
        by behaviour: Behaviour, _ request: OriginRequest, inFlight: Int
    ) -> ResponsePlan? {
        switch behaviour {
        case .status(let status, let retryAfter, let fields, let body):
            let fields = fields + (retryAfter.map { [HTTPField("Retry-After", $0.value)] } ?? [])
            return ResponsePlan(status: status, fields: fields, text: body)
        case .redirect(let location, let status):
            return ResponsePlan(status: status, fields: [HTTPField("Location", location)])
        case .redirectLoop(let status):
            return ResponsePlan(status: status, fields: [HTTPField("Location", request.target)])
        case .redirectChain(let length, let status):
            let hop = request.query.flatMap { Int($0.dropFirst("hop=".count)) } ?? 0
            guard hop < length else { return nil }
            return ResponsePlan(status: status, fields: [HTTPField("Location", "\(request.path)?hop=\(hop + 1)")])
        case .requireBasic(let user, let password):
            return Authentication.basic(user: user, password: password).refusal(of: request, &nonces)
        case .requireDigest(let user, let password, let algorithm):
            return Authentication.digest(user: user, password: password, algorithm).refusal(of: request, &nonces)
        case .connectionLimit(let limit):
            return inFlight > limit ? ResponsePlan(status: 503, text: "too many connections\n") : nil
        default:
            return nil
        }
    }
}

/// Totals over all requests for a path, or for all paths.
package struct OriginTotals: Sendable {
    package var requests = 0
    /// The number of body bytes that were written to sockets.
    package var bodyBytesSent: Int64 = 0
    package var cuts = 0
    package var stalls = 0
    /// The number of requests that are being answered now.
    package var inFlight = 0
    /// The largest number of requests that were being answered at the same time.
    package var peakInFlight = 0

    mutating func began() {
        requests += 1
        inFlight += 1
        peakInFlight = max(peakInFlight, inFlight)
    }
}

extension RetryAfter {
    fileprivate var value: String {
        switch self {
        case .seconds(let seconds): "\(seconds)"
        case .dateIn(let seconds): HTTPDate.format(Date().timeIntervalSince1970 + Double(seconds))
        case .text(let text): text
        }
    }
}

extension Behaviour {
    fileprivate var replacesResource: Bool {
        switch self {
        case .status, .redirect, .redirectLoop, .redirectChain, .requireBasic, .requireDigest, .connectionLimit: true
        default: false
        }
    }

    fileprivate func canApply(to head: RequestReader.Head) -> Bool {
        switch self {
        case .cutAfter, .resetAfter, .stallAfter, .holdAfter, .holdFrom, .throttle, .slowDrip, .swapDuringTransfer:
            head.method != "HEAD"
        case .ignoreRange, .earlyRange, .shortRange, .lyingRange, .refuseRange:
            head.method == "GET" && head.fields.first("Range") != nil
        case .ignoreRangeIfETagIfRange:
            head.method == "GET" && head.fields.first("If-Range")?.hasSuffix("\"") == true
        case .ignoreIfRange:
            head.method == "GET" && head.fields.first("If-Range") != nil
        case .ignoreExpect, .refuseExpect:
            head.expectsContinue
        case .cutUploadAfter, .resetUploadAfter, .stallUploadAfter, .throttleUpload:
            head.hasBody
        default:
            true
        }
    }
}
