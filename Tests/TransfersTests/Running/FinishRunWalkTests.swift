import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of files that wait for their names, with every possible result of disks and the store in random order,
/// including crashes. A model checks the results.
@Suite struct FinishRunWalkTests {
    private struct Walk {
        var run: FinishRun
        var random: ExchangeRandom
        let seed: UInt64
        /// The task's row.
        var row: TaskRecord
        var now = FinishRunTests.now
        /// Whether the file is open.
        var isOpen = true
        /// Whether the partial file still exists, under any name.
        var hasBytes = true
        /// Whether the file has the name of the intent.
        var hasName = false
        var end: FinishAction.Kind?
        var journal: [Decision] = []

        init(seed: UInt64, _ random: inout ExchangeRandom) {
            self.seed = seed
            let isFinishing = random.chance(0.3)
            row = FinishRunTests.record(isFinishing ? .finishing : .waiting, isChecked: random.chance(0.4))
            if random.chance(0.3) { row.partial?.coding = .gzip }
            run = FinishRun(record: row, wasContinued: random.chance(0.5))
            self.random = random
        }

        mutating func walk() {
            let (size, hasHoles) = (random.chance(0.9) ? Int64?.some(1_000) : 5, random.chance(0.05))
            carryOut(run.arrived(size: size, hasHoles: hasHoles, now: now))
            var restarts = 0
            // A row with the state 'finishing' is continued after a while, or by the next run of the service.
            while end == .release, row.state == .finishing, restarts < 200 {
                restarts += 1
                takeUp()
            }
            always(end == .release, "it ends nowhere, seed \(seed)")
            always(row.state != .finishing, "finishing for ever, seed \(seed)")
            always(!isOpen, "a file stays open, seed \(seed)")
            if row.state == .completed { always(hasName, "complete without its name, seed \(seed)") }
            if row.state == .waiting, row.partial != nil { always(hasBytes, "bytes that are gone, seed \(seed)") }
            let ends = journal.filter { [.completed, .failed].contains($0) }
            always(ends.count == (row.state.isTerminal ? 1 : 0), "\(journal), seed \(seed)")
        }

        private mutating func takeUp() {
            run = FinishRun(record: row)
            end = nil
            if row.publication != nil {
                let isUnclear = random.chance(0.1)
                let finding: InterruptedPublication =
                    isUnclear ? .unclear : hasName ? .done : hasBytes ? .pending : .lost
                isOpen = finding == .pending
                carryOut(run.found(finding, now: now))
            } else {
                isOpen = hasBytes
                let isWhole = random.chance(0.8)
                carryOut(
                    run.found(count: hasBytes ? isWhole ? 1_000 : 500 : nil, isDivided: false, now: now))
            }
        }

        /// Executes the actions of the run, as the service does.
        private mutating func carryOut(_ actions: [FinishAction]) {
            always(actions.filter(\.isStep).count == 1, "\(actions.map(\.kind)), seed \(seed)")
            always(actions.last?.isStep == true, "something after the last step, seed \(seed)")
            now.bootSeconds += 1
            for action in actions { carryOut(action) }
        }

        private mutating func carryOut(_ action: FinishAction) {
            switch action {
            case .closeFile:
                always(isOpen, "closed twice, seed \(seed)")
                isOpen = false
            case .save(let record, let entries):
                let faults = TaskLegality.faults(record)
                always(faults.isEmpty, "\(faults), seed \(seed)")
                let isSaved = random.chance(0.85)
                if isSaved {
                    row = record
                    journal += entries.map(\.decision)
                }
                carryOut(run.saved(isSaved))
            case .verify(_, _, let coding): verify(coding)
            case .arrive: carryOut(run.arrived(size: 1_000, hasHoles: false, now: now))
            case .queue: prepare()
            case .publish(let publication):
                always(row.publication == publication, "a name before the intent, seed \(seed)")
                publish()
            case .reopen:
                always(!isOpen, "opened twice, seed \(seed)")
                let isSame: Bool? = random.chance(0.9) ? random.chance(0.9) : nil
                isOpen = isSame != nil
                carryOut(run.reopened(isSame: isSame))
            case .remove(.all):
                // The run does not remove bytes that the row still names.
                always(row.partial == nil, "bytes removed under a row, seed \(seed)")
                hasBytes = false
            case .remove(.rest): always(row.state.isTerminal, "seed \(seed)")
            case .settleLater: break
            case .release: end = .release
            case .fault: always(false, "a transition that is not possible, seed \(seed)")
            }
        }

        private mutating func verify(_ coding: ContentCoding?) {
            let failures = [
                FinishRunTests.mismatch, TransferFailure(.cancelled, "The service is stopping."),
                TransferFailure(.inputOutput, "unreadable"),
            ]
            let failure = failures[random.number(0..<failures.count)]
            var file = VerifiedFile(names: ["sha-256"])
            if coding != nil, random.chance(0.8) {
                file.decoded = PartialFile(path: "/p/b", bootID: now.bootID)
                file.decoded?.total = 1_000
            }
            carryOut(run.verified(random.chance(0.6) ? .success(file) : .failure(failure), now: now, random: { 0.5 }))
        }

        private mutating func prepare() {
            always(isOpen, "prepared and closed, seed \(seed)")
            let isOther = run.length != 1_000
            switch random.number(0..<10) {
            case 0:
                let failure = random.chance(0.5) ? FinishRunTests.full : FinishRunTests.refused
                carryOut(run.unprepared(failure, now: now, random: { 0.5 }))
            case 1: carryOut(run.replaced(TransferFailure(.inputOutput, "touched"), now: now))
            default:
                // A file with another length than was written does not get a name.
                if isOther { return carryOut(run.replaced(TransferFailure(.inputOutput, "another"), now: now)) }
                var publication = FinishRunTests.publication
                publication.verified = run.verified
                publication.failure = run.refusal
                carryOut(run.prepared(publication, now: now))
            }
        }

        private mutating func publish() {
            // The file is closed whatever the result.
            isOpen = false
            switch random.number(0..<10) {
            case 0: carryOut(run.nameTaken())
            case 1:
                hasName = true
                carryOut(run.unsynced())
            case 2: carryOut(run.replaced(TransferFailure(.inputOutput, "touched"), now: now))
            case 3: carryOut(run.unplaced(FinishRunTests.refused, now: now))
            case 4: carryOut(run.unplaced(FinishRunTests.full, now: now))
            case 5: carryOut(run.unreachable(now: now))
            default:
                hasName = true
                carryOut(run.published(now: now))
            }
        }
    }

    @Test func `Every file gets its name at most once, and keeps its bytes until its row permits removal`() {
        let seed = ExchangeRandom.printedSeed("finishRun")
        var random = ExchangeRandom(seed: seed)
        var states: [TaskState: Int] = [:]
        for _ in 0..<4_000 {
            var walk = Walk(seed: seed, &random)
            walk.walk()
            random = walk.random
            states[walk.row.state, default: 0] += 1
        }
        #expect(states[.completed] ?? 0 > 1_000)
        #expect(states[.waiting] ?? 0 > 200)
        #expect(states[.failed] ?? 0 > 50)
    }
}
