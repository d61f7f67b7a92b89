import NightshiftAPI
import Store
import TestSupport
import Testing
import Transfers

/// Tests of runs with random ends of exchanges and stops at any time, compared with a model of legal sequences.
@Suite struct TransferRunWalkTests {
    /// One run with its invariants.
    private struct Walk {
        var scene: TransferRunScene
        var random: ExchangeRandom
        let seed: UInt64
        /// Whether an exchange is running.
        var isUnderWay = false
        /// Whether the exchange was cancelled.
        var isCancelled = false
        /// Whether the task must stop, rather than only change its connection.
        var isStopped = false
        var questions = 0
        /// The number of challenges that were sent to the app.
        var asked = 0
        var written: [JournalEntry] = []
        var end: TransferAction.Kind?
        /// The number of attempts to commit the end of an upload.
        var conclusions = 0

        init(seed: UInt64, _ random: inout ExchangeRandom) {
            self.seed = seed
            let mirrors = random.number(0..<3)
            let hasBytes = random.chance(0.5)
            let hasChecksum = random.chance(0.3)
            scene = TransferRunScene { record in
                record.request.mirrors = (0..<mirrors).map { "http://m\($0)/" }
                if hasBytes {
                    record.partial = TransferRunScene.partial(1_000)
                    record.received = 1_000
                }
                if hasChecksum { record.request.checksum = Checksum(algorithm: .md5, hex: "0") }
            }
            // Half of the runs are probes of their route.
            if random.chance(0.5) {
                scene.hosts.failed(
                    TransferRunScene.way, .address, TransferRunScene.lost, of: TaskID(2), began: 0, refusedUntil: nil,
                    now: scene.now, random: 0.5)
                scene.now.bootSeconds += 10_000
                _ = scene.hosts.admit(TransferRunScene.way, now: scene.now.bootSeconds)
                scene.run = TransferRun(record: scene.run.record, startedAt: scene.now.bootSeconds)
            }
            self.random = random
        }

        mutating func run() {
            carryOut([.ask], isEnd: true)
            var steps = 0
            while end == nil, steps < 2_000 {
                steps += 1
                always(isUnderWay, "no step is under way and none follows, seed \(seed)")
                guard isUnderWay else { return }
                step()
            }
            always(end != nil, "never ends, seed \(seed)")
            guard end == .release else { return }
            always(scene.run.phase == .released, "seed \(seed)")
            let later = scene.now.bootSeconds + 100_000
            always(scene.hosts.allowance(TransferRunScene.way, later) > 0, "a probe for ever, seed \(seed)")
        }

        /// Applies a random event during an exchange.
        private mutating func step() {
            scene.now.bootSeconds += 1
            scene.hold = random.chance(0.2) ? .network : nil
            scene.isBehindPortal = random.chance(0.1)
            if random.chance(0.03) { scene.isServiceStopping = true }
            switch random.number(0..<11) {
            case 0: interrupt()
            case 1:
                let isSynced = random.chance(0.9)
                carryOut(scene.run.checkpointed(isSynced, received: 2_000, synced: 2_000, scene.now), isEnd: false)
            case 2:
                let awake = scene.now.awakeSeconds - ConnectionCheck.length
                scene.run.doubtConnection(count: 0, awaitsResponse: false, awake: awake)
            case 3:
                let (moves, awaits) = (random.chance(0.5), random.chance(0.2))
                carryOut(
                    scene.run.probationTick(
                        count: moves ? 1 : 0, awaitsResponse: awaits, awake: scene.now.awakeSeconds + 1), isEnd: false)
                let until = scene.run.connectionCheck?.until ?? .infinity
                always(until > scene.now.awakeSeconds + 1, "a time that is over stays, seed \(seed)")
            case 4: carryOut(scene.run.momentChanged(moment(), awaitsResponse: random.chance(0.2)), isEnd: false)
            case 5:
                scene.run.doubtConnection(
                    count: 0, awaitsResponse: random.chance(0.2), awake: scene.now.awakeSeconds)
            case 6: carryOut(scene.run.beginningNoted(scene.now), isEnd: false)
            default: endExchange()
            }
        }

        /// Returns a device state that forbids or allows the task.
        private mutating func moment() -> DeviceState {
            var conditions = DeviceConditions()
            conditions.network.isAvailable = random.chance(0.9)
            return DeviceState(conditions: conditions)
        }

        /// Interrupts the run at any time, for any reason.
        private mutating func interrupt() {
            let interruptions: [Interruption] = [
                .wait(.smallerFirst), .wait(.starting), .hold(.network, detail: nil, inputs: [:]), .reconnect,
            ]
            let interruption = interruptions[random.number(0..<interruptions.count)]
            let actions = scene.run.interrupt(interruption)
            always(actions == (isUnderWay ? [.cancel] : []), "a stop is lost or not needed, seed \(seed)")
            isCancelled = isCancelled || isUnderWay
            if interruption != .reconnect { isStopped = true }
            if interruption == .reconnect { isStopped = false }
        }

        private mutating func endExchange() {
            isUnderWay = false
            let failures: [TransferFailure] = [
                TransferRunScene.lost, TransferRunScene.refused, TransferFailure(.diskFull, "full"),
                TransferFailure(.inputOutput, "broken"), TransferFailure(.cannotConnect, "down"),
            ]
            let failure = failures[random.number(0..<failures.count)]
            let conditions: [RangeCondition?] = [nil, .entityTag, .lastModified, .unconditional]
            let all: [DownloadConclusion] = [
                .whole, .again(conditions[random.number(0..<4)], reason: "again"),
                .again(conditions[random.number(0..<4)], reason: "again"), .interrupted,
                .trouble(failure, after: random.chance(0.3) ? .seconds(5) : nil), .trouble(failure, after: nil),
                .doubt(SuspectResponse(fingerprint: "f", times: 1), TransferFailure(.resourceChanged, "odd")),
                .worthless(TransferFailure(.protocolError, "too long")),
                .question(Challenge(method: .basic, host: "h", port: 80, scheme: "http")),
            ]
            let conclusion = isCancelled && random.chance(0.8) ? .interrupted : all[random.number(0..<all.count)]
            isCancelled = false
            let point = random.chance(0.5) ? FailurePoint(origin: "http://h:80", stage: .address) : nil
            if random.chance(0.1) {
                let statuses = [200, 201, 404, 503]
                let status = statuses[random.number(0..<statuses.count)]
                let head = ResponseHead(
                    status: status, headers: [], httpVersion: "1.1", url: "http://h/", method: "PUT")
                let answers = [
                    UploadAnswer(body: .memory(Array("answer".utf8.prefix(random.number(0..<7))))),
                    UploadAnswer(body: .file(count: 2 << 20)), UploadAnswer(body: .none, failure: failure),
                ]
                let answer = answers[random.number(0..<3)]
                carryOut(scene.run.uploadAnswered(head, answer, scene.context, &scene.hosts), isEnd: true)
            } else if random.chance(0.1) {
                let map = SegmentMap(total: 1_000_000, count: 1_000, synced: 1_000)
                let ends: [SegmentsConclusion?] = [
                    nil, .whole, .plain(reason: "plain"), .trouble(failure, notBefore: nil), .refused(conclusion),
                ]
                let end = ends[random.number(0..<ends.count)]
                carryOut(
                    scene.run.segmentsEnded(
                        end, map, isRecorded: random.chance(0.5), at: point, scene.context, &scene.hosts), isEnd: true)
            } else {
                carryOut(scene.ended(conclusion, hasFile: random.chance(0.9), at: point), isEnd: true)
            }
        }

        /// Executes the actions of the run as the service does, with stops in between.
        private mutating func carryOut(_ actions: [TransferAction], isEnd: Bool) {
            let steps = actions.filter(\.isStep)
            always(steps.count == (isEnd ? 1 : 0), "\(actions.map(\.kind)), seed \(seed)")
            if isEnd { always(actions.last?.isStep == true, "something after the last step, seed \(seed)") }
            for action in actions {
                check(action)
                switch action {
                case .ask: ask()
                case .cancel:
                    isCancelled = true
                    isStopped = isStopped || scene.run.isEnding
                case .syncFile:
                    if random.chance(0.1) { interrupt() }
                    let synced: Bool? = random.chance(0.9) ? random.chance(0.9) : nil
                    carryOut(scene.synced(synced), isEnd: true)
                case .cutFile:
                    carryOut(scene.run.cut(random.chance(0.9), scene.context, &scene.hosts), isEnd: true)
                case .question(let challenge):
                    let isKnown = random.chance(0.2)
                    asked += isKnown ? 0 : 1
                    carryOut(
                        isKnown
                            ? scene.run.answeredMeanwhile(scene.context, &scene.hosts)
                            : scene.run.asked(challenge, scene.context, &scene.hosts), isEnd: true)
                case .save, .saveQuestion:
                    if random.chance(0.1) { interrupt() }
                    carryOut(scene.saved(random.chance(0.9)), isEnd: true)
                case .keepBody:
                    if random.chance(0.1) { interrupt() }
                    let path: String? = random.chance(0.8) ? "/f/1" : nil
                    carryOut(scene.run.bodyKept(path, scene.context), isEnd: true)
                case .concludeLater:
                    always(!scene.isServiceStopping, "a pause of a service that stops, seed \(seed)")
                    if random.chance(0.1) { interrupt() }
                    carryOut(scene.run.concludeAgain(scene.context), isEnd: true)
                case .finish, .release: end = action.kind
                case .note, .closeFile, .discard, .abandonUpload, .report, .fault, .admitOthers, .removeCopies: break
                }
            }
        }

        private mutating func ask() {
            questions += 1
            isUnderWay = true
            // The file may fail before the request is sent.
            if random.chance(0.05) {
                isUnderWay = false
                return carryOut(scene.troubled(TransferFailure(.inputOutput, "no file")), isEnd: true)
            }
            always(scene.run.exchangeBegan() == [], "asked and stopped at once, seed \(seed)")
        }

        private mutating func check(_ action: TransferAction) {
            switch action.kind {
            case .ask:
                always(!isUnderWay, "two exchanges, seed \(seed)")
                always(!isStopped, "asked in spite of a stop, seed \(seed)")
                always(questions == 0 || !scene.isServiceStopping, "asked by a service that stops, seed \(seed)")
            case .cancel, .note: always(isUnderWay, "\(action.kind) of nothing, seed \(seed)")
            case .syncFile, .cutFile, .save, .finish, .question, .saveQuestion, .release, .keepBody, .concludeLater:
                always(!isUnderWay, "\(action.kind) while bytes come, seed \(seed)")
            case .fault: always(false, "a transition that is not possible, seed \(seed)")
            case .closeFile, .discard, .abandonUpload, .report, .admitOthers, .removeCopies: break
            }
            if let record = action.record {
                let faults = TaskLegality.faults(record)
                always(faults.isEmpty, "\(faults), seed \(seed)")
                let states: [TaskState] = isConcluding ? [.completed, .failed] : [.waiting, .failed]
                always(states.contains(record.state), "\(record.state), seed \(seed)")
                // The run shows no end before the end is on disk.
                always(!scene.run.shown.state.isTerminal, "an end is seen too soon, seed \(seed)")
            }
            let entries = action.entries
            let goesOn = [.note, .question, .keepBody, .concludeLater, .admitOthers].contains(action.kind)
            always(goesOn || scene.run.entries.isEmpty, "an entry that is not written, seed \(seed)")
            // The end of an upload is committed repeatedly until that succeeds.
            if !isConcluding || action.kind != .save { written += entries } else { conclusions += 1 }
        }

        private var isConcluding: Bool { if case .concluding = scene.run.phase { true } else { false } }
    }

    @Test func `Every run ends, obeys each stop, and does not block other tasks`() {
        let seed = ExchangeRandom.printedSeed("transferRun")
        var random = ExchangeRandom(seed: seed)
        var ends: [TransferAction.Kind: Int] = [:]
        var questions = 0
        var asked = 0
        var conclusions = 0
        for _ in 0..<4_000 {
            var walk = Walk(seed: seed, &random)
            walk.run()
            random = walk.random
            if let end = walk.end { ends[end, default: 0] += 1 }
            questions += walk.questions
            asked += walk.asked
            conclusions += walk.conclusions
            // One attempt has at most one entry about its end.
            let last = walk.written.filter { [.held, .failed].contains($0.decision) }
            always(last.count <= 1, "held twice, seed \(seed)")
        }
        #expect(ends[.release] ?? 0 > 1_000)
        #expect(ends[.finish] ?? 0 > 200)
        #expect(asked > 100)
        #expect(conclusions > 200)
        #expect(questions > 4_300)
    }
}
