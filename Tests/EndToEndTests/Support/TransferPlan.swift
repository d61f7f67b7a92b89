import Glibc
import NightshiftAPI
import TestSupport

/// One transfer of a random test: the resource that the origin serves, the request, and every correct outcome.
struct TransferPlan: Sendable {
    var path: String
    var resource: Resource
    var request: TaskRequest
    var outcome: Outcome
    /// Whether the service may request from the origin again only those bytes that a crash may cost.
    var resumesExactly = false

    enum Outcome: Sendable {
        /// A file that has exactly one of these contents.
        case file([Content])
        /// An upload whose body the origin must have received.
        case uploaded(Content)
        case failure(TransferFailure.Code)
    }

    static let fileName = "whole"

    /// The versions that a file under its final name may have.
    var versions: [Content] {
        if case .file(let contents) = outcome { contents } else { [] }
    }
}

/// A generator of transfers, which are the same for the same seed.
struct TransferPlanner {
    let directory: String
    let origin: OriginServer
    /// An origin that refuses requests, so that the service pauses its host. The other transfers must not wait for it.
    let refusingOrigin: OriginServer
    private(set) var random: SplitMix64
    private(set) var count = 0

    init(directory: String, origin: OriginServer, refusingOrigin: OriginServer, seed: UInt64) {
        (self.directory, self.origin, self.refusingOrigin) = (directory, origin, refusingOrigin)
        random = SplitMix64(seed: seed)
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    /// Generates the next transfer and serves it at the origin.
    mutating func next(uploadSource: (Content, Int) throws -> String) throws -> TransferPlan {
        count += 1
        let kind = number(0...19)
        switch kind {
        case 0...4: return exact()
        case 5: return small(size: 0)
        case 6: return small(size: number(1...100_000))
        case 7, 8: return try upload(uploadSource)
        case 9: return swapped()
        case 10: return refused()
        case 11: return failing()
        default: return troubled(Int(kind))
        }
    }

    /// Returns a plain, correct resource whose transfer survives several crashes.
    private mutating func exact() -> TransferPlan {
        let size = number(0...24 << 20)
        let rate = number(3 << 20...24 << 20)
        var plan = plan(content(size), .throttle(bytesPerSecond: rate))
        plan.resumesExactly = true
        return plan
    }

    private mutating func small(size: Int64) -> TransferPlan {
        plan(content(size))
    }

    private mutating func swapped() -> TransferPlan {
        let old = content(number(1 << 20...6 << 20))
        count += 1
        let new = Resource(content: content(number(1 << 20...6 << 20)))
        var plan = plan(old, .swapDuringTransfer(after: number(1...old.size - 1), to: new), throttled)
        plan.outcome = .file([old, new.content])
        return plan
    }

    /// Returns a transfer from a host that temporarily refuses all requests.
    private mutating func refused() -> TransferPlan {
        let after: RetryAfter = Bool.random(using: &random) ? .seconds(1) : .dateIn(seconds: 1)
        return plan(
            content(number(0...2 << 20)), .status(503, retryAfter: after).times(Int(number(1...3))), at: refusingOrigin)
    }

    private mutating func failing() -> TransferPlan {
        if Bool.random(using: &random) {
            var plan = plan(content(10), .status(404, body: "nothing here"))
            plan.outcome = .failure(.httpStatus)
            return plan
        }
        var plan = plan(content(number(1...3 << 20)), throttled)
        plan.request.checksum = Checksum(algorithm: .sha256, hex: String(repeating: "0", count: 64))
        plan.outcome = .failure(.checksumMismatch)
        return plan
    }

    private mutating func upload(_ source: (Content, Int) throws -> String) throws -> TransferPlan {
        let content = content(number(0...3 << 20))
        let troubles: [Behaviour] = [
            .throttleUpload(bytesPerSecond: 6 << 20), .resetUploadAfter(number(1...1 << 20)).times(1),
            .ignoreExpect, .interimResponses([103]),
        ]
        var plan = plan(TestContent.empty, troubles[Int(number(0...3))])
        plan.request = .upload(try source(content, count), to: plan.request.url ?? "")
        plan.outcome = .uploaded(content)
        return plan
    }

    /// Returns a transfer with another server fault with which it must still succeed.
    private mutating func troubled(_ kind: Int) -> TransferPlan {
        let size = number(300_000...4 << 20)
        let point = number(1...size - 1)
        let times = Int(number(1...4))
        let content = content(size)
        switch kind {
        case 12: return plan(content, .cutAfter(point).times(times), throttled)
        case 13: return plan(content, .resetAfter(point).times(times), throttled)
        case 14:
            var plan = plan(content, .stallAfter(point).times(1))
            plan.request.idleTimeout = 1
            return plan
        case 15: return plan(content, .chunked(), throttled)
        case 16: return plan(content, .earlyRange(blockSize: 64 << 10), throttled)
        case 17:
            let hostile: [Behaviour] = [
                .ignoreRangeIfETagIfRange, .changingETagPerRequest, .weakETag, .noETag, .noValidators, .ignoreRange,
                .refuseRange, .lastModifiedEqualsDate,
            ]
            return plan(content, hostile[Int(number(0...Int64(hostile.count - 1)))], throttled)
        case 18:
            let lies: [LyingRange] = [
                .wrongStart(by: 7), .wrongTotal(by: 9), .missingContentRange, .garbage, .multipart,
            ]
            return plan(content, .lyingRange(lies[Int(number(0...4))]).times(2), throttled)
        default:
            let rest: [Behaviour] = [
                .reprDigest(), .shortRange(200_000), .redirectChain(3), .closeBeforeHead.times(2),
                .garbageStatusLine().times(1), .chunked(lastChunk: false).times(2),
                .contentLengthTooLong(by: 5).times(2),
            ]
            return plan(content, rest[Int(number(0...Int64(rest.count - 1)))], throttled, at: refusingOrigin)
        }
    }

    private var throttled: Behaviour {
        mutating get { .throttle(bytesPerSecond: number(2 << 20...12 << 20)) }
    }

    private func content(_ size: Int64) -> Content { .seeded(size: size, seed: UInt64(count % 13)) }

    private func plan(_ content: Content, _ behaviours: Behaviour..., at server: OriginServer? = nil) -> TransferPlan {
        let server = server ?? origin
        let path = "/\(count)"
        let resource = Resource(content: content, etag: "\"\(count)-\(content.size)\"", behaviours: behaviours)
        server.serve(path, resource)
        var request = TaskRequest.download(
            server.url(path), to: "\(directory)/\(count)", named: TransferPlan.fileName)
        request.retryPolicy = .transientResponses
        request.failsOnHTTPError = true
        return TransferPlan(path: path, resource: resource, request: request, outcome: .file([content]))
    }
}

enum TestContent {
    static let empty = Content.bytes([])

    /// Writes a content to a file.
    static func write(_ content: Content, to path: String) throws {
        let bytes = content.bytes(0..<content.size)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        guard bytes.isEmpty || Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw SystemError("write \(path)")
        }
    }
}
