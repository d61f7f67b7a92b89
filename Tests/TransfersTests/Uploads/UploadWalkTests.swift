import Foundation
import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of uploads to servers that misbehave at random, with crashes in between. Every byte arrives in order, no claim
/// is false, and each upload ends.
@Suite struct UploadWalkTests {
    private static let url = "https://example.org/files/a"

    /// One upload, from its first request to its end.
    private struct Walk {
        let source: [UInt8]
        var server: UploadServerModel
        var upload: ResumableUpload
        let target: UploadTarget
        /// The resource that is committed in the row.
        var committed: UploadResource?
        var waits = 0
        var sentBytes = 0
        let seed: UInt64

        init(seed: UInt64, _ random: inout ExchangeRandom) {
            self.seed = seed
            source = (0..<random.number(0..<120)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            server = UploadServerModel(&random, length: Int64(source.count))
            target = UploadTarget(
                url: UploadWalkTests.url, method: "POST", headers: [], length: Int64(source.count), source: "s")
            let version = InteropVersion.allCases[random.number(0..<4)]
            let uploadProtocol: UploadProtocol = server.dialect == .tus ? .tus : .draft(version)
            upload = ResumableUpload(target, uploadProtocol: uploadProtocol)
        }

        /// Runs the upload. Returns the head that ended it, or nil if it failed.
        mutating func run(_ random: inout ExchangeRandom) -> ResponseHead? {
            var immediate = 0
            while true {
                let (verdict, head) = exchange(&random)
                check()
                switch verdict {
                case .finished: return head
                case .fail: return nil
                case .proceed: immediate = 0
                case .askAgain, .startAgain:
                    immediate += 1
                    always(immediate <= 200, "round in circles, seed \(seed)")
                    if immediate > 200 { return nil }
                case .retryLater, .doubt:
                    immediate = 0
                    waits += 1
                    // At some time the servers stop misbehaving, and then the uploads must end.
                    if waits > 30 { server.trouble = 0 }
                    always(waits < 60, "waits for ever, seed \(seed), \(server.dialect)")
                    if waits >= 60 { return nil }
                }
                if random.chance(0.05) { crash() }
            }
        }

        private mutating func exchange(_ random: inout ExchangeRandom) -> (UploadVerdict, ResponseHead?) {
            let before = upload.resource
            let request = upload.next()
            always(request.purpose != .append || request.url == before?.url, "seed \(seed)")
            if request.purpose == .append {
                always(request.body?.lowerBound == before?.offset, "seed \(seed)")
                always(request.headers.first("Upload-Offset") == "\(before?.offset ?? -1)", "seed \(seed)")
            }
            let content = request.body.map { Array(source[Int($0.lowerBound)..<Int($0.upperBound)]) } ?? []
            sentBytes += content.count
            let later: UploadVerdict = .retryLater(TransferFailure(.connectionLost, ""), after: nil)
            for event in server.answer(request, content, &random) {
                switch event {
                case .interim(let head, let after):
                    let verdict = upload.interim(head, now: 0)
                    check()
                    let progress = upload.progress(handedOver: Int64(after))
                    always((0...Int64(source.count)).contains(progress), "seed \(seed)")
                    if verdict == .resumable { committed = upload.resource }
                    if verdict == .stop { return (upload.broke() ?? later, nil) }
                case .final(let head):
                    let verdict = upload.answered(head, now: 0)
                    if random.chance(0.5) { committed = upload.resource }
                    return (verdict, head)
                case .page(let head):
                    let verdict = upload.answered(head, now: 0, isBehindPortal: true)
                    always(verdict.doubtCode != nil && upload.resource?.offset == before?.offset, "seed \(seed)")
                    committed = upload.resource
                    return (verdict, head)
                case .broken:
                    return (upload.broke() ?? later, nil)
                }
            }
            return (later, nil)
        }

        /// Checks that the server's bytes of the current resource are the beginning of the source.
        private func check() {
            for bytes in server.kept.values { always(source.starts(with: bytes), "mixed bytes, seed \(seed)") }
            guard let resource = upload.resource else { return }
            always(resource.offset <= Int64(source.count), "seed \(seed)")
        }

        private mutating func crash() {
            let row = committed.flatMap { try? JSONEncoder().encode($0) }
            let resource = row.flatMap { try? JSONDecoder().decode(UploadResource.self, from: $0) }
            let uploadProtocol: UploadProtocol = server.dialect == .tus ? .tus : .draft(.latest)
            upload = ResumableUpload(target, resource: resource, uploadProtocol: uploadProtocol)
        }
    }

    @Test func `Random uploads deliver all bytes in order, are never falsely complete, and end`() {
        let seed = ExchangeRandom.printedSeed("uploadWalk")
        var random = ExchangeRandom(seed: seed)
        var successes = 0
        var resumed = 0
        for _ in 0..<10_000 {
            var walk = Walk(seed: seed, &random)
            guard let head = walk.run(&random) else { continue }
            for body in walk.server.delivered { always(body == walk.source, "a mixed file, seed \(seed)") }
            guard (200..<300).contains(head.status) else { continue }
            successes += 1
            always(!walk.server.delivered.isEmpty, "claimed without bytes, seed \(seed), \(walk.server.dialect)")
            if walk.waits > 0, walk.sentBytes < walk.source.count * 2 { resumed += 1 }
        }
        #expect(successes > 4_000)
        // The mean of this many walks is 540, and the standard deviation 22.
        #expect(resumed > 400)
    }

    /// A test of the acknowledged offset of one resource, whatever the server reports.
    @Test func `The offset of a random upload never decreases`() {
        let seed = ExchangeRandom.printedSeed("uploadOffsets")
        var random = ExchangeRandom(seed: seed)
        for _ in 0..<8_000 {
            let uploadProtocol: UploadProtocol =
                random.chance(0.3) ? .tus : .draft(InteropVersion.allCases[random.number(0..<4)])
            let target = UploadTarget(url: Self.url, method: "PUT", headers: [], length: 50, source: "s")
            var upload = ResumableUpload(target, uploadProtocol: uploadProtocol)
            for _ in 0..<30 {
                let before = upload.resource
                let request = upload.next()
                var isOver = false
                for _ in 0..<random.number(0..<4) {
                    _ = upload.interim(Self.nonsense(104, request, &random), now: 0)
                    isOver = isOver || Self.decreased(before, upload.resource)
                }
                if random.chance(0.2) {
                    _ = upload.broke()
                } else {
                    let statuses = [200, 201, 204, 204, 204, 400, 404, 409, 409, 412, 413, 423, 500, 503]
                    let status = statuses[random.number(0..<statuses.count)]
                    let verdict = upload.answered(Self.nonsense(status, request, &random), now: 0)
                    if case .fail = verdict { break }
                    if verdict == .finished { break }
                }
                always(!isOver && !Self.decreased(before, upload.resource), "seed \(seed)")
                always(upload.resource.map { (0...50).contains($0.offset) } ?? true, "seed \(seed)")
            }
        }
    }

    private static func decreased(_ before: UploadResource?, _ after: UploadResource?) -> Bool {
        guard let before, let after, before.url == after.url else { return false }
        return after.offset < before.offset
    }

    private static func nonsense(
        _ status: Int, _ request: UploadRequest, _ random: inout ExchangeRandom
    ) -> ResponseHead {
        var fields: [(String, String)] = []
        func add(_ name: String, _ values: [String], _ random: inout ExchangeRandom) {
            if random.chance(0.6) { fields.append((name, values[random.number(0..<values.count)])) }
        }
        let version = request.headers.first("Upload-Draft-Interop-Version") ?? "8"
        add("Upload-Draft-Interop-Version", [version, version, version, "3", "6", "7", "x"], &random)
        add("Upload-Offset", (0...60).map(String.init) + ["x", "-3"], &random)
        add("Upload-Complete", ["?0", "?0", "?1", "1"], &random)
        add("Upload-Incomplete", ["?1", "?0"], &random)
        add("Upload-Length", ["50", "50", "50", "49"], &random)
        add("Location", ["/u/\(random.number(0..<1_000_000))", "/u/1", "http://x/", ""], &random)
        add("Upload-Limit", ["max-append-size=7", "max-size=49", "max-age=1", "("], &random)
        return ResponseHead(
            status: status, headers: fields.map { HeaderField(name: $0.0, value: $0.1) }, httpVersion: "1.1",
            url: random.chance(0.9) ? request.url : "https://elsewhere.org/x",
            method: random.chance(0.95) ? request.method : "GET")
    }
}
