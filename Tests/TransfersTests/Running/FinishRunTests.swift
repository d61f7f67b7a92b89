import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the decisions between a file's last byte and its name, input by input.
@Suite struct FinishRunTests {
    static let now = TaskMachineTests.start
    static let mismatch = TransferFailure(.checksumMismatch, "other bytes")
    static let full = TransferFailure(.diskFull, "full")
    static let refused = TransferFailure(.destinationUnavailable, "not here")
    static let publication = Publication(from: "/p/a", to: "/d/a", inode: 1, size: 1_000, overwrite: false)

    /// Returns a download of 1,000 bytes that have all arrived.
    static func record(_ state: TaskState = .waiting, isChecked: Bool = false) -> TaskRecord {
        var record = TaskMachineTests.record(state)
        record.partial = TransferRunScene.partial(1_000)
        record.partial?.total = 1_000
        record.received = 1_000
        if isChecked { record.request.checksum = Checksum(algorithm: .sha256, hex: "00") }
        return record
    }

    private static func arrived(
        _ record: TaskRecord = record(), size: Int64? = 1_000, hasHoles: Bool = false, wasContinued: Bool = false
    ) -> (run: FinishRun, actions: [FinishAction]) {
        var run = FinishRun(record: record, wasContinued: wasContinued)
        let actions = run.arrived(size: size, hasHoles: hasHoles, now: now)
        return (run, actions)
    }

    /// Returns a run whose intent is on disk.
    private static func publishing() -> FinishRun {
        var run = FinishRun(record: record())
        _ = run.arrived(size: 1_000, hasHoles: false, now: now)
        _ = run.prepared(publication, now: now)
        _ = run.saved(true)
        return run
    }

    @Test func `Each step from the last byte to the name is committed before the next`() {
        var (run, actions) = Self.arrived()
        #expect(actions == [.queue] && run.record.state == .finishing)
        actions = run.prepared(Self.publication, now: Self.now)
        #expect(actions.map(\.kind) == [.save])
        #expect(actions.record?.publication == Self.publication)
        #expect(actions.entries.map(\.decision) == [.finishing])
        #expect(run.saved(true) == [.publish(Self.publication)])
        actions = run.published(now: Self.now)
        #expect(actions.map(\.kind) == [.save])
        #expect(actions.record?.state == .completed && actions.record?.file == "/d/a")
        #expect(actions.entries.map(\.decision) == [.completed])
        #expect(run.saved(true).map(\.kind) == [.removeRest, .release])
        #expect(run.phase == .released)
    }

    @Test func `A file is hashed after the attempt to commit its state, even if the commit fails`() {
        for isSaved in [true, false] {
            var (run, actions) = Self.arrived(Self.record(isChecked: true))
            #expect(actions.map(\.kind) == [.save])
            let asked = Checksum(algorithm: .sha256, hex: "00")
            #expect(run.saved(isSaved) == [.verify(asked: asked, announced: [], coding: nil)])
            #expect(
                run.verified(.success(VerifiedFile(names: ["sha-256"])), now: Self.now, random: { 0.5 }) == [.queue])
            #expect(run.verified == ["sha-256"])
            actions = run.prepared(Self.publication, now: Self.now)
            // An entry that could not be written is not lost.
            #expect(actions.entries.map(\.decision) == (isSaved ? [] : [.finishing]))
        }
    }

    /// Returns a run whose file was decoded to 4,000 bytes.
    private static func decoded() -> FinishRun {
        var record = record()
        record.partial?.coding = .gzip
        record.response = ResponseSummary(status: 200, headers: [], httpVersion: "1.1")
        record.response?.remark = .coded
        var (run, _) = arrived(record)
        #expect(run.saved(true) == [.verify(asked: nil, announced: [], coding: .gzip)])
        var decoded = PartialFile(path: "/p/b", bootID: now.bootID)
        decoded.total = 4_000
        #expect(run.verified(.success(VerifiedFile(decoded: decoded)), now: now, random: { 0.5 }) == [.queue])
        #expect(run.length == 4_000)
        return run
    }

    @Test func `One row records the decoded bytes and the intent to publish them`() {
        var run = Self.decoded()
        #expect(run.record.partial?.path == "/p/a" && run.record.response?.remark == .coded)
        let intent = Publication(from: "/p/b", to: "/d/a", inode: 1, size: 4_000, overwrite: false)
        let row = run.prepared(intent, now: Self.now).record
        #expect(row?.partial?.path == "/p/b" && row?.publication == intent)
        #expect(row?.response?.remark == .decoded)
        #expect(run.saved(true) == [.publish(intent)])
        let end = run.published(now: Self.now).record
        #expect(end?.state == .completed && end?.file == "/d/a")
    }

    @Test func `A row keeps the received bytes while the decoded file cannot get its name`() {
        var run = Self.decoded()
        let actions = run.unprepared(Self.full, areBytesSafe: true, now: Self.now, random: { 0.5 })
        #expect(actions.record?.state == .waiting && actions.record?.partial?.path == "/p/a")
        #expect(actions.record?.partial?.coding == .gzip)
    }

    @Test func `A file without space for its decoded bytes waits and keeps the received bytes`() {
        var record = Self.record()
        record.partial?.coding = .gzip
        var (run, _) = Self.arrived(record)
        _ = run.saved(true)
        let actions = run.verified(.failure(Self.full), now: Self.now, random: { 0.5 })
        #expect(actions.map(\.kind) == [.closeFile, .save])
        #expect(actions.record?.wait?.reason == .diskSpace && actions.record?.partial?.path == "/p/a")
    }

    @Test func `A stopping service leaves a file that it hashes to the next run`() {
        var (run, _) = Self.arrived(Self.record(isChecked: true))
        _ = run.saved(true)
        let stop = TransferFailure(.cancelled, "The service is stopping.")
        #expect(run.verified(.failure(stop), now: Self.now, random: { 0.5 }) == [.closeFile, .release])
        #expect(run.record.state == .finishing)
    }

    @Test func `A file with wrong bytes is fetched again only if several exchanges delivered the bytes`() {
        for wasContinued in [true, false] {
            var (run, _) = Self.arrived(Self.record(isChecked: true), wasContinued: wasContinued)
            _ = run.saved(true)
            let actions = run.verified(.failure(Self.mismatch), now: Self.now, random: { 0.5 })
            #expect(actions.map(\.kind) == [.closeFile, .save])
            #expect(actions.record?.state == (wasContinued ? .waiting : .failed))
            // The run keeps no bytes after the commit.
            #expect(run.saved(true).map(\.kind) == [.removeAll, .release])
        }
    }

    @Test(arguments: [(Int64?.some(999), false), (nil, false), (1_000, true)])
    func `A finished file that another process has changed is fetched again`(size: Int64?, hasHoles: Bool) {
        var (run, actions) = Self.arrived(size: size, hasHoles: hasHoles)
        #expect(actions.map(\.kind) == [.closeFile, .save])
        #expect(actions.record?.state == .waiting && actions.record?.partial == nil)
        #expect(actions.entries.map(\.decision) == [.finishing, .restarted])
        #expect(run.saved(true).map(\.kind) == [.removeAll, .release])
    }

    @Test func `A file that is repeatedly changed is fetched again after growing pauses`() {
        var record = Self.record()
        var pauses: [Double] = []
        for _ in 0..<4 {
            record.state = .waiting
            record.partial = Self.record().partial
            record.received = 1_000
            var (run, _) = Self.arrived(record)
            let actions = run.replaced(TransferFailure(.inputOutput, "touched"), now: Self.now)
            record = actions.record ?? record
            #expect(record.state == .waiting)
            pauses.append((record.notBefore ?? Self.now.bootSeconds) - Self.now.bootSeconds)
        }
        // The first change may be accidental, so the first retry has no pause.
        #expect(pauses.first == 0)
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy(<), "\(pauses)")
    }

    @Test func `T4: A task whose file cannot get its name keeps the bytes and waits`() {
        var (run, _) = Self.arrived()
        let trouble = TransferFailure(.inputOutput, "the copy failed")
        let actions = run.unprepared(trouble, areBytesSafe: true, now: Self.now, random: { 0.5 })
        #expect(actions.map(\.kind) == [.closeFile, .save])
        #expect(actions.record?.state == .waiting && actions.record?.partial?.bootID == "b")
        #expect(run.saved(true) == [.release])
    }

    @Test func `T4: A task stops fetching a file that is gone after each crash`() {
        var record = Self.record(.finishing)
        record.publication = Self.publication
        record.restarts = FinishTrouble.mostRestarts
        var run = FinishRun(record: record, length: 0)
        #expect(run.found(.lost, now: Self.now).record?.state == .failed)
    }

    @Test func `The service removes bytes only after it has committed that they are not needed`() {
        var (run, _) = Self.arrived(size: 1)
        #expect(run.saved(false) == [.settleLater, .release])
    }

    @Test func `A file gets its name only after its intent is on disk`() {
        var (run, _) = Self.arrived()
        _ = run.prepared(Self.publication, now: Self.now)
        #expect(run.saved(false) == [.settleLater, .closeFile, .release])
    }

    @Test func `A file that cannot be prepared waits or fails, and is closed`() {
        var (run, _) = Self.arrived()
        var actions = run.unprepared(Self.full, now: Self.now, random: { 0.5 })
        #expect(actions.map(\.kind) == [.closeFile, .save])
        #expect(actions.record?.wait?.reason == .retry)
        // The bytes of the file are still valid.
        #expect(run.saved(true) == [.release])
        (run, _) = Self.arrived()
        actions = run.replaced(TransferFailure(.inputOutput, "touched"), now: Self.now)
        #expect(actions.map(\.kind) == [.closeFile, .save])
    }

    @Test func `A file that its folder refuses is stored by the service, and waits if that fails`() {
        var record = Self.record()
        record.request.destination = Destination(directory: "/d")
        var (run, _) = Self.arrived(record)
        // The file stays open.
        #expect(run.unprepared(Self.refused, now: Self.now, random: { 0.5 }) == [.queue])
        #expect(run.refusal == Self.refused)
        var actions = run.unprepared(Self.refused, now: Self.now, random: { 0.5 })
        #expect(actions.map(\.kind) == [.closeFile, .save])
        #expect(actions.record?.state == .waiting && actions.record?.partial != nil)
        #expect(run.saved(true) == [.release])
        // Without a destination the service stores the file.
        (run, _) = Self.arrived()
        actions = run.unprepared(Self.refused, now: Self.now, random: { 0.5 })
        #expect(actions.record?.state == .waiting && actions.record?.partial != nil)
    }

    @Test func `A file whose name is taken gets another name, and a refused file is stored by the service`() {
        var run = Self.publishing()
        #expect(run.nameTaken() == [.reopen(Self.publication)])
        #expect(run.reopened(isSame: true) == [.queue])
        #expect(run.refusal == nil && run.length == 1_000)
        run = Self.publishing()
        #expect(run.unplaced(Self.refused, now: Self.now) == [.reopen(Self.publication)])
        #expect(run.reopened(isSame: true) == [.queue])
        #expect(run.refusal == Self.refused)
        // The second refusal comes from the service's own disk, so the task waits.
        _ = run.prepared(Self.publication, now: Self.now)
        _ = run.saved(true)
        let actions = run.unplaced(Self.refused, now: Self.now)
        #expect(actions.record?.wait?.reason == .retry)
        #expect(run.saved(true) == [.release])
    }

    @Test func `A file that cannot be renamed to its destination is copied there once`() {
        var run = Self.publishing()
        #expect(run.unreachable(now: Self.now) == [.reopen(Self.publication)])
        #expect(run.reopened(isSame: true) == [.queue])
        #expect(run.isCopied && run.refusal == nil && run.length == 1_000)
        _ = run.prepared(Self.publication, now: Self.now)
        _ = run.saved(true)
        // A copy next to its final name is always on the same file system. A failure is the disk's, so the task waits.
        #expect(run.unreachable(now: Self.now).record?.wait?.reason == .retry)
    }

    @Test func `T4: A copy whose name was taken is not confused with its original`() {
        for isCopy in [false, true] {
            var publication = Self.publication
            if isCopy { publication.from = "/d/.copy" }
            var run = FinishRun(record: Self.record())
            _ = run.arrived(size: 1_000, hasHoles: false, now: Self.now)
            _ = run.prepared(publication, now: Self.now)
            _ = run.saved(true)
            #expect(run.nameTaken() == [.reopen(publication)])
            #expect(run.isCopied == isCopy)
        }
    }

    @Test func `A copy with an intent from before a crash is not confused with its original`() {
        var record = Self.record(.finishing)
        record.publication = Self.publication
        record.partial?.path = Self.publication.from
        var run = FinishRun(record: record, length: 0)
        #expect(run.found(.pending, now: Self.now) == [.queue] && !run.isCopied)
        record.publication?.from = "/d/.copy"
        run = FinishRun(record: record, length: 0)
        #expect(run.found(.pending, now: Self.now) == [.queue] && run.isCopied)
    }

    @Test func `A file that cannot be reopened is finished later, and a replaced file is fetched again`() {
        var run = Self.publishing()
        _ = run.nameTaken()
        #expect(run.reopened(isSame: nil) == [.settleLater, .release])
        run = Self.publishing()
        _ = run.nameTaken()
        #expect(run.reopened(isSame: false) == [.queue])
        #expect(run.length != 1_000)
    }

    @Test func `A file whose directory cannot be synced keeps its intent`() {
        var run = Self.publishing()
        #expect(run.unsynced() == [.settleLater, .release])
        #expect(run.record.publication == Self.publication)
    }

    @Test func `The descriptor is not closed twice if the file is replaced during the rename`() {
        var run = Self.publishing()
        let actions = run.replaced(TransferFailure(.inputOutput, "touched"), now: Self.now)
        #expect(actions.map(\.kind) == [.save] && actions.record?.state == .waiting)
        #expect(run.saved(true).map(\.kind) == [.removeAll, .release])
    }

    @Test func `A task fails with the error of the folder that refused its file`() {
        var publication = Self.publication
        publication.failure = Self.refused
        var (run, _) = Self.arrived()
        _ = run.prepared(publication, now: Self.now)
        _ = run.saved(true)
        let actions = run.published(now: Self.now)
        #expect(actions.record?.state == .failed && actions.record?.file == "/d/a")
        #expect(actions.record?.error == Self.refused)
    }

    @Test(arguments: [
        (InterruptedPublication.done, [FinishAction.Kind.save]), (.unclear, [.settleLater, .release]),
        (.pending, [.queue]), (.lost, [.save]),
    ])
    func `The next run continues an intent from before a crash from its actual progress`(
        finding: InterruptedPublication, kinds: [FinishAction.Kind]
    ) {
        var record = Self.record(.finishing)
        var publication = Self.publication
        publication.verified = ["md5"]
        record.publication = publication
        var run = FinishRun(record: record, length: 0)
        let actions = run.found(finding, now: Self.now)
        #expect(actions.map(\.kind) == kinds)
        switch finding {
        case .done: #expect(actions.record?.state == .completed && actions.record?.verified == ["md5"])
        case .pending: #expect(run.verified == ["md5"] && run.length == 1_000)
        case .lost: #expect(actions.record?.state == .waiting && actions.record?.partial == nil)
        case .unclear: #expect(run.record.state == .finishing)
        }
    }

    @Test func `Without an intent, the service publishes complete bytes and fetches missing bytes`() {
        var run = FinishRun(record: Self.record(.finishing), length: 0)
        #expect(run.found(count: 1_000, isDivided: false, now: Self.now) == [.arrive])
        #expect(run.arrived(size: 1_000, hasHoles: false, now: Self.now) == [.queue])
        for (count, isDivided) in [(Int64?.some(999), false), (1_000, true), (nil, false)] {
            var run = FinishRun(record: Self.record(.finishing), length: 0)
            let actions = run.found(count: count, isDivided: isDivided, now: Self.now)
            #expect(actions.map(\.kind) == (count == nil ? [.save] : [.closeFile, .save]))
            #expect(actions.record?.state == .waiting && actions.record?.partial != nil)
            #expect(run.saved(true) == [.release])
        }
    }
}

extension FinishAction {
    /// The kind of an action, without its values.
    enum Kind: Hashable, Sendable {
        case closeFile, save, verify, arrive, queue, publish, reopen, removeAll, removeRest, settleLater, release, fault
    }

    var kind: Kind {
        switch self {
        case .closeFile: .closeFile
        case .save: .save
        case .verify: .verify
        case .arrive: .arrive
        case .queue: .queue
        case .publish: .publish
        case .reopen: .reopen
        case .remove(.all): .removeAll
        case .remove(.rest): .removeRest
        case .settleLater: .settleLater
        case .release: .release
        case .fault: .fault
        }
    }

    /// Whether the action continues or ends the run.
    var isStep: Bool {
        switch kind {
        case .save, .verify, .arrive, .queue, .publish, .reopen, .release: true
        case .closeFile, .removeAll, .removeRest, .settleLater, .fault: false
        }
    }
}

extension [FinishAction] {
    /// The record that the actions commit.
    var record: TaskRecord? {
        compactMap { if case .save(let record, _) = $0 { record } else { nil } }.last
    }

    var entries: [JournalEntry] {
        flatMap { if case .save(_, let entries) = $0 { entries } else { [JournalEntry]() } }
    }
}
