import NightshiftAPI
import Scheduler
import Store
import Testing

@testable import Transfers

/// Decisions before a request, the records of its responses, and changes of a running task by others.
@Suite struct TransferRunRequestTests {
    /// Bytes after a gap: 0..<10 and 500..<900, of which 0..<10 are synced.
    private static let gaps: SegmentMap = {
        var map = SegmentMap(total: 1_000_000, count: 10, synced: 10)
        map.write(500..<900)
        return map
    }()

    private static func scene(_ change: (inout TaskRecord) -> Void = { _ in }) -> TransferRunScene {
        TransferRunScene { record in
            record.partial = TransferRunScene.partial(10)
            record.partial?.segments = gaps
            record.received = gaps.count
            change(&record)
        }
    }

    private static func head(_ status: Int, url: String = "http://h/") -> ResponseHead {
        ResponseHead(
            status: status, headers: [HeaderField(name: "ETag", value: "\"a\"")], httpVersion: "1.1", url: url,
            method: "GET")
    }

    @Test func `Gaps are filled only if the bytes identify the file and several connections are allowed`() {
        guard case .fill(let identity) = Self.scene().run.step(for: Self.gaps) else {
            Issue.record("The gaps are not filled.")
            return
        }
        #expect(identity.total == 1_000_000)
        let unknown = Self.scene {
            $0.partial?.entityTag = nil
            $0.partial?.lastModified = nil
        }
        #expect(unknown.run.step(for: Self.gaps) == .cut)
        let whole = SegmentMap(total: 1_000_000, count: 10, synced: 10)
        #expect(Self.scene().run.step(for: whole) == .cut)
        // Received bytes were wrong, so a single connection fetches them again.
        let wrong = Self.scene { $0.lastError = TransferFailure(.checksumMismatch, "wrong") }
        #expect(wrong.run.step(for: Self.gaps) == .cut)
    }

    @Test func `A mirror that cannot prove the bytes before gaps does not discard them`() {
        var scene = Self.scene {
            $0.partial?.entityTag = "W/\"weak\""
            $0.request.mirrors = ["http://m1/"]
        }
        _ = scene.run.exchangeBegan()
        _ = scene.ended(.trouble(TransferFailure(.cannotConnect, "down"), after: nil))
        #expect(scene.run.round.mirror == "http://m1/")
        guard case .refuse(let failure) = scene.run.step(for: Self.gaps) else {
            Issue.record("The mirror may discard bytes.")
            return
        }
        #expect(failure.code == .resourceChanged)
    }

    @Test func `A file that was truncated to its beginning has no gaps`() {
        var scene = Self.scene()
        scene.run.gapsCut(Self.gaps, bootID: "new")
        let partial = scene.run.record.partial
        #expect(partial?.segments == nil && partial?.length == 10 && partial?.synced == 10)
        #expect(partial?.bootID == "new")
        scene.run.requested(after: 10, scene.now)
        #expect(scene.run.startCount == 10 && scene.run.record.received == 10)
    }

    @Test func `Bytes that are not the written ones are forgotten, and the journal says why`() {
        var scene = Self.scene()
        let restarts = scene.run.record.restarts
        scene.run.bytesLost(because: "the file is gone", scene.now)
        #expect(scene.run.record.partial == nil && scene.run.record.received == 0)
        #expect(scene.run.record.restarts == restarts + 1)
        #expect(scene.run.entries.map(\.decision) == [.restarted])
        scene.run.bytesLost(because: "the file is gone", scene.now)
        #expect(scene.run.entries.count == 1)
    }

    @Test func `The first response that continues gaps is accepted once, and keeps the digests of all sources`() {
        var scene = Self.scene { $0.partial?.doubt = SuspectResponse(fingerprint: "f", times: 1) }
        scene.run.gapsRequested(Self.gaps, scene.now)
        #expect(scene.run.wasDivided && !scene.run.isAccepted && scene.run.startCount == Self.gaps.count)
        guard case .fill(let identity) = scene.run.step(for: Self.gaps) else {
            Issue.record("The gaps are not filled.")
            return
        }
        scene.run.segmentAnswered(Self.head(206, url: "http://m/"), identity, isFirst: false, scene.now)
        #expect(scene.run.isAccepted && scene.run.entries.map(\.decision) == [.continued])
        #expect(scene.run.record.partial?.doubt != nil)
        scene.run.segmentAnswered(Self.head(206), identity, isFirst: true, scene.now)
        #expect(scene.run.entries.count == 1)
        #expect(scene.run.record.partial?.doubt == nil)
    }

    @Test func `The row says that bytes may follow gaps before the first of them is written`() {
        var scene = Self.scene()
        _ = scene.run.exchangeBegan()
        let actions = scene.run.divided(Self.gaps, scene.now)
        #expect(actions.map(\.kind) == [.note])
        #expect(actions.flatMap(\.entries).map(\.decision) == [.divided])
        #expect(actions.compactMap(\.record).last?.partial?.segments == Self.gaps)
        #expect(scene.run.divided(Self.gaps, scene.now).flatMap(\.entries) == [])
    }

    @Test func `A short download is committed only at its end`() {
        for isBrief in [true, false] {
            var scene = TransferRunScene()
            _ = scene.run.exchangeBegan()
            let accepted = AcceptedResponse(
                response: ResponseSummary(status: 200, headers: [], httpVersion: "1.1"), url: "http://h/",
                partial: TransferRunScene.partial(0), isLarge: false, offset: 0, restart: nil)
            let actions = scene.run.answered(accepted, isBrief: isBrief, scene.now)
            #expect(actions.map(\.kind) == (isBrief ? [] : [.note]))
            #expect(scene.run.isNoted == !isBrief && scene.run.isAccepted)
        }
    }

    @Test func `An owner's change also applies if the commit of an end fails`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        let head = Self.head(201)
        _ = scene.run.uploadAnswered(head, UploadAnswer(body: .none), scene.context, &scene.hosts)
        var row = scene.run.shown
        row.priority = 0.9
        row.request.rateLimit = 1_000
        row.request.description = "new"
        scene.run.ownerChanged(row)
        #expect(scene.saved(false).map(\.kind) == [.concludeLater])
        let record = scene.run.record
        #expect(record.state == .waiting && record.priority == 0.9)
        #expect(record.request.rateLimit == 1_000 && record.request.description == "new")
    }

    @Test func `An upload request that ended is followed by the step that the server's answer allows`() {
        let resource = UploadResource(
            url: "http://h/u", uploadProtocol: .draft(.latest), offset: 40, length: 100, source: "s",
            sharesSecrets: true)
        func kinds(
            _ outcome: ExchangeEnd.Outcome, _ verdict: UploadVerdict?, change: TransferFailure? = nil
        ) -> [TransferAction.Kind] {
            var scene = TransferRunScene { $0.upload = resource }
            _ = scene.run.exchangeBegan()
            let end = UploadEnd(
                exchange: ExchangeEnd(outcome: outcome, head: Self.head(200)), verdict: verdict,
                answer: UploadAnswer(body: .none), change: change, resource: resource, handedOver: 50, isQuery: false)
            return scene.run.uploadEnded(end, scene.context, &scene.hosts).map(\.kind)
        }
        let changed = TransferFailure(.sourceChanged, "changed")
        let challenge = Challenge(method: .basic, host: "h", port: 80, scheme: "http")
        #expect(kinds(.challenged(challenge), nil) == [.question])
        #expect(kinds(.complete, .finished) == [.save])
        #expect(kinds(.complete, .finished, change: changed).contains(.abandonUpload))
        #expect(kinds(.cancelled, nil, change: changed) == [.save])
        #expect(kinds(.failed(TransferRunScene.lost), nil) == [.report, .save])
        #expect(kinds(.complete, nil) == [.report, .save])
        #expect(kinds(.complete, .fail(TransferRunScene.refused)).first == .abandonUpload)
        #expect(kinds(.complete, .doubt(TransferRunScene.lost)) == [.report, .save])
        #expect(kinds(.complete, .retryLater(TransferRunScene.lost, after: nil)) == [.report, .save])
        #expect(kinds(.complete, .proceed).last == .ask)
    }

    @Test func `The sent bytes of an unfinished upload are the bytes that the server has acknowledged`() {
        let resource = UploadResource(
            url: "http://h/u", uploadProtocol: .draft(.latest), offset: 40, length: 100, source: "s",
            sharesSecrets: true)
        for (verdict, sent) in [(UploadVerdict.proceed, 40), (.finished, 50)] as [(UploadVerdict, Int64)] {
            var scene = TransferRunScene { $0.upload = resource }
            _ = scene.run.exchangeBegan()
            let end = UploadEnd(
                exchange: ExchangeEnd(outcome: .complete, head: Self.head(200)), verdict: verdict,
                answer: UploadAnswer(body: .none), change: nil, resource: resource, handedOver: 50, isQuery: false)
            _ = scene.run.uploadEnded(end, scene.context, &scene.hosts)
            #expect(scene.run.record.sent == sent)
        }
    }
}
