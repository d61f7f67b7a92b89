import NightshiftAPI
import Store
import Testing
import Transfers

/// The decisions of a run, input by input.
@Suite struct TransferRunTests {
    private static func kinds(_ actions: [TransferAction]) -> [TransferAction.Kind] { actions.map(\.kind) }

    private static func wait(_ actions: [TransferAction]) -> StoredWait? { actions.compactMap(\.record).last?.wait }

    @Test func `The run hands a complete download over together with its journal entries`() {
        var scene = TransferRunScene(inputs: ["network": "wifi"])
        #expect(scene.run.exchangeBegan() == [])
        var partial = TransferRunScene.partial(0)
        partial.total = 10
        let response = ResponseSummary(status: 200, headers: [], httpVersion: "1.1")
        scene.run.accept(
            AcceptedResponse(
                response: response, url: "http://h/", partial: partial, isLarge: false, offset: 0, restart: nil),
            scene.now)
        let actions = scene.ended(.whole)
        #expect(Self.kinds(actions) == [.finish])
        #expect(actions.flatMap(\.entries).map(\.decision) == [.started])
        #expect(actions.flatMap(\.entries).last?.inputs == ["network": "wifi"])
        #expect(scene.run.phase == .handedOver)
    }

    /// Makes attempts that each fetch `bytes` from byte 0 and break, until the task ends or after `most` attempts.
    private static func attempts(
        fetching bytes: Int64, tag: (Int) -> String? = { _ in nil }, most: Int = 100
    ) -> (count: Int, record: TaskRecord) {
        var record = TransferRunScene().run.record
        record.fruitless = 0
        for number in 1...most {
            var scene = TransferRunScene { $0 = record }
            _ = scene.run.exchangeBegan()
            var partial = TransferRunScene.partial(0)
            partial.entityTag = tag(number)
            let response = ResponseSummary(status: 200, headers: [], httpVersion: "1.1")
            scene.run.accept(
                AcceptedResponse(
                    response: response, url: "http://h/", partial: partial, isLarge: false, offset: 0,
                    restart: number > 1 ? "lost" : nil), scene.now)
            scene.run.bytesCounted(bytes, length: bytes)
            _ = scene.ended(.trouble(TransferFailure(.truncated, "cut"), after: nil))
            record = scene.run.record
            if record.state.isTerminal { return (number, record) }
        }
        return (most, record)
    }

    @Test(arguments: [(1 as Int64, 10), (1 << 30, 10), (3 << 30, 5), (1 << 40, 3)])
    func `T8: A download that always restarts fails after ten attempts, or after too many bytes`(
        bytes: Int64, count: Int
    ) {
        let (attempts, record) = Self.attempts(fetching: bytes)
        #expect(attempts == count && record.state == .failed)
        #expect(record.error?.code == .truncated)
        #expect(record.error?.message.contains("has started from byte 0 \(count) times") == true)
    }

    @Test func `T8: A download whose version differs on each attempt fails, too`() {
        let (attempts, record) = Self.attempts(fetching: 1_000, tag: { "\"\($0)\"" })
        #expect(attempts == 12 && record.state == .failed)
    }

    @Test func `T8: Attempts without bytes do not count against a download that cannot resume`() {
        let (_, record) = Self.attempts(fetching: 1_000, most: 9)
        var scene = TransferRunScene { $0 = record }
        for _ in 0..<50 {
            _ = scene.run.exchangeBegan()
            _ = scene.troubled(TransferRunScene.lost)
            #expect(scene.run.record.state == .waiting)
            let waiting = scene.run.record
            scene = TransferRunScene { $0 = waiting }
        }
    }

    @Test func `A download with all bytes but no file counts as a failed attempt`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        let actions = scene.ended(.whole, hasFile: false)
        #expect(Self.kinds(actions) == [.report, .save])
        #expect(Self.wait(actions)?.reason == .retry)
    }

    @Test func `A stop before the first exchange prevents the next request`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        _ = scene.run.exchangeBegan()
        #expect(Self.kinds(scene.ended(.again(.unconditional, reason: "r"))) == [.closeFile, .save])
        #expect(scene.run.interrupt(.wait(.smallerFirst)) == [])
        let actions = scene.saved()
        #expect(Self.kinds(actions) == [.save])
        #expect(Self.wait(actions)?.reason == .smallerFirst)
        #expect(Self.kinds(scene.saved()) == [.release])
    }

    @Test func `A stop during the start of an exchange ends that exchange`() {
        var scene = TransferRunScene()
        #expect(scene.run.interrupt(.wait(.starting)) == [])
        #expect(scene.run.exchangeBegan() == [.cancel])
        #expect(scene.ended(.interrupted) == [.syncFile])
        #expect(Self.kinds(scene.synced()) == [.save])
        #expect(Self.kinds(scene.saved()) == [.release])
    }

    @Test func `A stopping service sends no further requests`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        _ = scene.run.exchangeBegan()
        _ = scene.ended(.again(.unconditional, reason: "r"))
        scene.isServiceStopping = true
        #expect(Self.kinds(scene.saved()) == [.save])
        #expect(Self.kinds(scene.saved()) == [.release])
    }

    @Test func `A task whose commit failed sends no further request and no longer counts as a probe`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        let way = TransferRunScene.way
        scene.hosts.failed(
            way, .address, TransferRunScene.lost, of: TaskID(2), began: 0, refusedUntil: nil, now: scene.now,
            random: 0.5)
        let later = scene.now.bootSeconds + 10_000
        let isProbe = scene.hosts.admit(way, now: later)
        #expect(isProbe)
        scene.now.bootSeconds = later
        scene.run = TransferRun(record: scene.run.record, startedAt: later)
        _ = scene.run.exchangeBegan()
        _ = scene.ended(.again(.unconditional, reason: "r"))
        #expect(scene.hosts.allowance(way, later) == 0)
        #expect(Self.kinds(scene.saved(false)) == [.release])
        #expect(scene.hosts.allowance(way, later) == 1)
    }

    @Test func `A task waits after too many contradictory responses`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        for _ in 0..<TransferRun.repetitionLimit {
            _ = scene.run.exchangeBegan()
            #expect(Self.kinds(scene.ended(.again(.lastModified, reason: "r"))) == [.closeFile, .save])
            #expect(scene.saved() == [.ask])
        }
        _ = scene.run.exchangeBegan()
        let actions = scene.ended(.again(.lastModified, reason: "r"))
        #expect(Self.kinds(actions) == [.closeFile, .report, .save])
        #expect(Self.wait(actions)?.reason == .retry)
    }

    @Test func `Worthless bytes are requested again at once only if they continued earlier bytes`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        scene.run.requested(after: 10, scene.now)
        _ = scene.run.exchangeBegan()
        var actions = scene.ended(.worthless(TransferRunScene.lost))
        #expect(actions.compactMap(\.record).last?.partial?.lossReason == "gone")
        #expect(scene.saved() == [.ask])
        scene.run.requested(after: 0, scene.now)
        _ = scene.run.exchangeBegan()
        actions = scene.ended(.worthless(TransferRunScene.lost))
        #expect(actions.compactMap(\.record).last?.partial == nil)
        #expect(Self.wait(actions)?.reason == .retry)
    }

    @Test func `A suspect connection is replaced at once unless the device state blocks the task`() {
        for hold in [nil, WaitReason.network] {
            var scene = TransferRunScene()
            _ = scene.run.exchangeBegan()
            scene.run.doubtConnection(count: 0, awaitsResponse: false, awake: 195)
            scene.hold = hold
            let actions = scene.troubled(TransferRunScene.lost)
            #expect(actions.flatMap(\.entries).contains { $0.decision == .reconnected } == (hold == nil))
            if hold == nil { #expect(scene.saved() == [.ask]) }
        }
    }

    @Test func `A connection that receives no bytes during its check is cancelled and replaced`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        scene.run.doubtConnection(count: 5, awaitsResponse: false, awake: 195)
        #expect(scene.run.probationTick(count: 5, awaitsResponse: false, awake: 199) == [])
        #expect(scene.run.probationTick(count: 5, awaitsResponse: false, awake: 200) == [.cancel])
        #expect(scene.ended(.interrupted) == [.syncFile])
        #expect(scene.synced().flatMap(\.entries).map(\.decision) == [.reconnected])
        #expect(scene.saved() == [.ask])
        scene.run.doubtConnection(count: 5, awaitsResponse: false, awake: 195)
        #expect(scene.run.probationTick(count: 6, awaitsResponse: false, awake: 300) == [])
        #expect(scene.run.connectionCheck == nil)
    }

    @Test func `The check of a silent connection ends even while the transfer is being stopped`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        scene.run.doubtConnection(count: 5, awaitsResponse: false, awake: 195)
        #expect(scene.run.interrupt(.hold(.network, detail: nil, inputs: [:])) == [.cancel])
        #expect(scene.run.probationTick(count: 5, awaitsResponse: false, awake: 200) == [])
        #expect(scene.run.connectionCheck == nil, "who waits for its end would not wait")
        scene.run.doubtConnection(count: 5, awaitsResponse: false, awake: 201)
        #expect(scene.run.connectionCheck == nil, "there is nothing more to break off")
    }

    @Test func `A transfer that the device state forbids waits, even if its connection fails`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        #expect(scene.run.interrupt(.hold(.network, detail: "d", inputs: ["network": "none"])) == [.cancel])
        let actions = scene.troubled(TransferRunScene.lost)
        #expect(Self.wait(actions)?.reason == .network)
        #expect(actions.flatMap(\.entries).last?.inputs == ["network": "none"])
    }

    @Test func `A task requests its mirrors one after the other, then fails`() {
        var scene = TransferRunScene { record in
            record.request.mirrors = ["http://m1/", "http://m2/"]
        }
        for mirror in ["http://m1/", "http://m2/"] {
            _ = scene.run.exchangeBegan()
            let actions = scene.ended(.trouble(TransferRunScene.refused, after: nil))
            #expect(actions.flatMap(\.entries).map(\.decision) == [.mirrorAsked])
            #expect(scene.run.round.mirror == mirror)
            #expect(scene.saved() == [.ask])
        }
        _ = scene.run.exchangeBegan()
        let actions = scene.ended(.trouble(TransferRunScene.refused, after: nil))
        #expect(Self.kinds(actions) == [.closeFile, .report, .save])
        #expect(actions.compactMap(\.record).last?.state == .failed)
        #expect(Self.kinds(scene.saved()) == [.discard, .release])
    }

    @Test func `A task pauses as long as its server requests`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        let busy = TransferFailure(.serverUnavailable, "503", status: 503)
        let actions = scene.ended(.trouble(busy, after: .seconds(30)))
        #expect(Self.wait(actions)?.reason == .retryAfter)
        #expect(actions.compactMap(\.record).last?.notBefore == scene.now.bootSeconds + 30)
    }

    @Test func `A failure that leaves bytes on disk produces resume data`() {
        var scene = TransferRunScene { record in
            record.partial = TransferRunScene.partial(10)
            record.received = 10
        }
        let actions = scene.run.fail(TransferRunScene.refused, scene.context, &scene.hosts)
        #expect(actions.compactMap(\.record).last?.resumeData == "token")
        // The end is not visible before it is on disk.
        #expect(scene.run.shown.state == .waiting && scene.run.shown.error == nil)
        #expect(Self.kinds(scene.saved()) == [.release])
    }

    @Test func `A task waits for the app's answer to a challenge, but not for a challenge of a mirror`() {
        let challenge = Challenge(method: .basic, host: "h", port: 80, scheme: "http")
        for isKnown in [true, false] {
            var scene = TransferRunScene()
            _ = scene.run.exchangeBegan()
            #expect(scene.ended(.question(challenge)) == [.closeFile, .question(challenge)])
            if isKnown {
                #expect(scene.run.answeredMeanwhile(scene.context, &scene.hosts) == [.release])
                continue
            }
            let actions = scene.run.asked(challenge, scene.context, &scene.hosts)
            #expect(Self.kinds(actions) == [.saveQuestion])
            #expect(Self.wait(actions)?.reason == .answer)
            #expect(actions.flatMap(\.entries).map(\.decision) == [.asked])
            #expect(Self.kinds(scene.saved()) == [.release])
        }
        var scene = TransferRunScene { $0.request.mirrors = ["http://m1/"] }
        _ = scene.run.exchangeBegan()
        _ = scene.ended(.trouble(TransferRunScene.lost, after: nil))
        _ = scene.saved()
        _ = scene.run.exchangeBegan()
        #expect(!Self.kinds(scene.ended(.question(challenge))).contains(.question))
    }

    @Test func `A checkpoint is due after enough new bytes or enough time, and only during an exchange`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(0) }
        let start = scene.now.bootSeconds
        #expect(!scene.run.isCheckpointDue(new: TransferRun.checkpointBytes, now: start))
        _ = scene.run.exchangeBegan()
        #expect(scene.run.isCheckpointDue(new: TransferRun.checkpointBytes, now: start))
        #expect(!scene.run.isCheckpointDue(new: 1, now: start))
        #expect(scene.run.isCheckpointDue(new: 1, now: start + TransferRun.checkpointSeconds))
        #expect(!scene.run.isCheckpointDue(new: 0, now: start + 100))
        let actions = scene.run.checkpointed(true, received: 9, synced: 9, scene.now)
        #expect(Self.kinds(actions) == [.note])
        #expect(actions.compactMap(\.record).last?.partial?.synced == 9)
        #expect(scene.run.checkpointed(false, received: 12, synced: 12, scene.now) == [.cancel])
        _ = scene.ended(.trouble(TransferRunScene.refused, after: nil))
        // The row of a task that has ended is not overwritten.
        #expect(scene.run.checkpointed(true, received: 20, synced: 20, scene.now) == [])
    }

    @Test func `The journal records the start of a transfer once, after a short time`() {
        var scene = TransferRunScene()
        #expect(scene.run.beginningNoted(scene.now) == [])
        _ = scene.run.exchangeBegan()
        scene.run.note(.started, nil, scene.now)
        #expect(scene.run.beginningNoted(scene.now) == [])
        scene.now.bootSeconds += TransferRun.briefSeconds
        let actions = scene.run.beginningNoted(scene.now)
        #expect(Self.kinds(actions) == [.note] && actions.flatMap(\.entries).map(\.decision) == [.started])
        #expect(scene.run.isNoted && scene.run.beginningNoted(scene.now) == [])
        // An earlier checkpoint of a download or upload commits the start, too.
        scene.run.note(.started, nil, scene.now)
        let told = scene.run.checkpointed(true, received: 0, synced: 0, scene.now).flatMap(\.entries).map(\.decision)
        #expect(told == [.started] && scene.run.entries.isEmpty)
    }

    @Test func `The run truncates a file with gaps before a single connection continues the download`() {
        var scene = TransferRunScene { $0.partial = TransferRunScene.partial(10) }
        _ = scene.run.exchangeBegan()
        let map = SegmentMap(total: 1_000_000, count: 10, synced: 10)
        let actions = scene.run.segmentsEnded(
            .plain(reason: "The server sends everything"), map, isRecorded: true, at: nil, scene.context, &scene.hosts)
        #expect(actions == [.cutFile(to: 10)])
        let next = scene.run.cut(true, scene.context, &scene.hosts)
        #expect(next.flatMap(\.entries).map(\.decision) == [.undivided])
        #expect(scene.run.singleReason == "The server sends everything")
        #expect(scene.saved() == [.ask])
    }

    /// Returns a download whose connections have ended with `conclusion`, with bytes after a gap.
    private func refused(_ conclusion: DownloadConclusion) -> (actions: [TransferAction], scene: TransferRunScene) {
        var map = SegmentMap(total: 1_000_000, count: 10, synced: 10)
        map.write(500..<900)
        var scene = TransferRunScene {
            $0.partial = TransferRunScene.partial(10)
            $0.partial?.segments = map
            $0.received = map.count
        }
        _ = scene.run.exchangeBegan()
        let actions = scene.run.segmentsEnded(
            .refused(conclusion), map, isRecorded: true, at: nil, scene.context, &scene.hosts)
        return (actions, scene)
    }

    @Test func `A refused segment affects the task like a refused whole file, and keeps the bytes`() {
        let doubt = SuspectResponse(fingerprint: "200 text/html", times: 1)
        let doubted = refused(.doubt(doubt, TransferFailure(.resourceChanged, "odd"))).actions
        #expect(Self.kinds(doubted) == [.closeFile, .report, .save])
        #expect(Self.wait(doubted)?.reason == .doubtfulAnswer)
        let kept = doubted.compactMap(\.record).last
        #expect(kept?.partial?.doubt == doubt && kept?.partial?.segments?.count == 410)

        let failed = refused(.trouble(TransferRunScene.refused, after: nil)).actions.compactMap(\.record).last
        #expect(failed?.state == .failed && failed?.partial?.segments?.count == 410)

        let challenge = Challenge(method: .basic, host: "h", port: 80, scheme: "http")
        let asking = refused(.question(challenge))
        #expect(Self.kinds(asking.actions) == [.closeFile, .question])
        var scene = asking.scene
        let asked = scene.run.asked(challenge, scene.context, &scene.hosts).compactMap(\.record).last
        #expect(asked?.partial?.segments?.count == 410)
    }

    @Test func `An upload sends its parts without commits in between, except for journal entries`() {
        var scene = TransferRunScene()
        _ = scene.run.exchangeBegan()
        #expect(scene.run.uploadGoesOn(isQueried: false, scene.context, &scene.hosts) == [.ask])
        _ = scene.run.exchangeBegan()
        _ = scene.run.interrupt(.wait(.smallerFirst))
        let actions = scene.run.uploadGoesOn(isQueried: false, scene.context, &scene.hosts)
        #expect(Self.wait(actions)?.reason == .smallerFirst)
    }

    @Test func `T8: An untrusted certificate fails a task at once unless a captive portal is present`() {
        let failure = TransferFailure(.untrustedServer, "self-signed")
        let point = FailurePoint(origin: "http://h:80", stage: .address)
        var alone = TransferRunScene()
        _ = alone.run.exchangeBegan()
        #expect(Self.wait(alone.troubled(failure, at: point)) == nil)
        var portal = TransferRunScene()
        portal.isBehindPortal = true
        _ = portal.run.exchangeBegan()
        let wait = Self.wait(portal.troubled(failure, at: point))
        #expect(wait?.reason == .portal)
        var expired = TransferRunScene()
        _ = expired.run.exchangeBegan()
        let outOfDate = TransferFailure(.certificateOutOfDate, "expired")
        #expect(Self.wait(expired.troubled(outOfDate, at: point)) != nil)
    }
}
