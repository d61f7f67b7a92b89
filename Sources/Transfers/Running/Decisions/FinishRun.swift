package import NightshiftAPI
package import Store

/// One download from its last byte to its name: everything that is decided behind the bytes.
///
/// Pure, as ``TransferRun``, which hands over to it. Each step is on disk before the next one is taken, so that a crash between
/// any two is repaired from the row. The phases and their legal exits:
///
/// - `idle`: ``arrived(size:hasHoles:now:)`` leads to `noting`, `queued` or `closing`; behind a crash ``found(_:now:)`` leads to `queued`,
///   `closing` or `released`, and ``found(count:isDivided:now:)`` to `idle` or `closing`.
/// - `noting`: that the file is verified is being written down. ``saved(_:)`` leads to `verifying`.
/// - `verifying`: ``verified(_:now:random:)`` leads to `queued`, `closing` or `released`.
/// - `queued`: ``prepared(_:now:)`` leads to `intending`; ``unprepared(_:now:random:)`` and ``replaced(_:now:)`` to `closing`, the former
///   once to `queued` again.
/// - `intending`: which name it gets is being written down. ``saved(_:)`` leads to `publishing` or `released`.
/// - `publishing`: ``published(now:)`` and ``replaced(_:now:)`` lead to `closing`, ``nameTaken()`` to `reopening`,
///   ``unreachable(now:)`` and ``unplaced(_:now:)`` to either, ``unsynced()`` to `released`.
/// - `reopening`: ``reopened(isSame:)`` leads to `queued` or `released`.
/// - `closing`: it is being written down for the last time. ``saved(_:)`` leads to `released`.
/// - `released`: none.
package struct FinishRun: Sendable {
    package enum Phase: Hashable, Sendable {
        case idle
        case noting
        case verifying
        case queued
        case intending(Publication)
        case publishing(Publication)
        case reopening
        /// What to remove once that is written down.
        indirect case closing(FinishAction.Remains?)
        case released
    }

    package private(set) var phase = Phase.idle
    /// As it is in the store, but for what is decided and not written down yet.
    @CopyOnWrite package private(set) var record: TaskRecord
    /// Bytes that were written, or found whole: the file has to have exactly so many.
    package private(set) var length: Int64
    /// Names of the digests that were compared and right.
    package private(set) var verified: [String] = []
    /// Why it cannot go where it should, where that has shown: it is kept with the service.
    package private(set) var refusal: TransferFailure?
    /// Whether it cannot be renamed from where its bytes came to: a copy of it beside the destination gets the name.
    package private(set) var isCopied = false
    /// The file that gets the name instead of the one that came, which is coded.
    package private(set) var decoded: PartialFile?
    /// Whether its bytes came in several exchanges.
    private var wasContinued: Bool
    /// Entries of the journal that go into the next commit.
    private var entries: [JournalEntry]
    private var faults: [IllegalTransition] = []

    /// - Parameters:
    ///   - entries: what is not in the journal yet.
    ///   - length: of the file; what the record has received unless given.
    package init(
        record: TaskRecord, entries: [JournalEntry] = [], length: Int64? = nil, wasContinued: Bool = false
    ) {
        self.record = record
        self.entries = entries
        self.length = length ?? record.received
        self.wasContinued = wasContinued
    }

    // MARK: - Before its turn

    /// Every byte is in the open file.
    ///
    /// - Parameters:
    ///   - size: of the file; nil where it cannot be told.
    ///   - hasHoles: whether bytes within it were never written.
    package mutating func arrived(size: Int64?, hasHoles: Bool, now: ClockReading) -> [FinishAction] {
        assert(phase == .idle, "The bytes of task \(record.id) arrived, and its run is \(phase).")
        record.received = size ?? length
        // One that a crash has left finishing is so already.
        if record.state != .finishing { apply(.finish(nil), now) }
        // A fault has ended it.
        guard record.state == .finishing else { return [.closeFile] + close() }
        guard size == length, !hasHoles else {
            let words =
                size == length
                ? "bytes within it are gone" : "the partial file has \(size ?? 0) bytes instead of \(length)"
            return [.closeFile] + fetchAgain(.replaced(words), now)
        }
        let partial = record.partial
        guard record.request.checksum != nil || partial?.digests.isEmpty == false || partial?.coding != nil else {
            return queue()
        }
        // That takes its time: the state is written down first.
        phase = .noting
        return takeFaults() + [.save(record, entries)]
    }

    /// - Parameter result: the file that is open now, or what is wrong.
    package mutating func verified(
        _ result: Result<VerifiedFile, TransferFailure>, now: ClockReading, random: () -> Double
    ) -> [FinishAction] {
        switch result {
        case .success(let file):
            verified = file.names
            decoded = file.decoded
            length = file.decoded?.total ?? length
            return queue()
        case .failure(let failure) where failure.isStopOfVerification:
            // The row says how far it is; the next service takes it from there.
            return [.closeFile] + release()
        case .failure(let failure) where failure.code == .diskFull:
            // The bytes are right, and there is no room for the decoded ones.
            return unprepared(failure, areBytesSafe: true, now: now, random: random)
        case .failure(let failure):
            return [.closeFile] + wrongBytes(failure, wasContinued: wasContinued, now, random)
        }
    }

    // MARK: - Its turn

    /// Its data is on disk, and this is to be its name.
    package mutating func prepared(_ publication: Publication, now: ClockReading) -> [FinishAction] {
        assert(phase == .queued, "Task \(record.id) was prepared, and its run is \(phase).")
        if let decoded {
            record.partial = decoded
            record.response?.remark = .decoded
            self.decoded = nil
        }
        apply(.publish(publication), now)
        phase = .intending(publication)
        return flush()
    }

    /// Its data could not be synced, or no name be found. Where its place refuses it for good, it is kept with the service.
    ///
    /// - Parameter areBytesSafe: whether its data is on disk: then it is not fetched again, whatever its place does.
    package mutating func unprepared(
        _ failure: TransferFailure, areBytesSafe: Bool = false, now: ClockReading, random: () -> Double
    ) -> [FinishAction] {
        guard failure.isPermanent || areBytesSafe else {
            return [.closeFile] + wrongBytes(failure, wasContinued: false, now, random)
        }
        let isRefused = refusal != nil || record.request.destination == nil
        guard let event = FinishTrouble.unplaced(failure, isRefused: isRefused, bootSeconds: now.bootSeconds) else {
            refusal = failure
            return queue()
        }
        apply(event, now)
        return [.closeFile] + close()
    }

    /// The folder that it goes to is not there: it waits, with all its bytes.
    package mutating func folderIsMissing(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        apply(.hold(.forFolder(failure, bootSeconds: now.bootSeconds)), now)
        return [.closeFile] + close()
    }

    /// Somebody has touched the file since its bytes were written.
    ///
    /// - Parameter failure: says how that has shown.
    package mutating func replaced(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        let isOpen = phase == .queued
        return (isOpen ? [.closeFile] : []) + fetchAgain(failure, now)
    }

    /// It has its name, on disk.
    package mutating func published(now: ClockReading) -> [FinishAction] {
        guard case .publishing(let publication) = phase else { return contradiction("published") }
        return complete(publication, now)
    }

    /// Somebody else took the name in between: it gets the next one.
    package mutating func nameTaken() -> [FinishAction] { reopen(because: nil) }

    /// There is no renaming from where it lies to its name, though both seem to be on one file system: a mount, a quota or a key of
    /// encryption divides them (rename(2), EXDEV). A copy gets the name.
    package mutating func unreachable(now: ClockReading) -> [FinishAction] {
        guard !isCopied else {
            return unplaced(TransferFailure(.inputOutput, "The file cannot be moved within its directory."), now: now)
        }
        isCopied = true
        return reopen(because: refusal)
    }

    /// It has its name, and a power cut might still take it away. The intent stays written down; it is settled when the directory
    /// can be synced.
    package mutating func unsynced() -> [FinishAction] { [.settleLater] + release() }

    /// It could not be given its name.
    package mutating func unplaced(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        guard
            let event = FinishTrouble.unplaced(failure, isRefused: refusal != nil, bootSeconds: now.bootSeconds)
        else { return reopen(because: failure) }
        apply(event, now)
        return close(leavingRestOfEnded: true)
    }

    /// - Parameter isSame: whether the file is the one that the intent names; nil where it could not be opened.
    package mutating func reopened(isSame: Bool?) -> [FinishAction] {
        assert(phase == .reopening, "The file of task \(record.id) was opened, and its run is \(phase).")
        guard let isSame else { return [.settleLater] + release() }
        // No file has this length: it is fetched again when it is looked at.
        if !isSame { length = -1 }
        return queue()
    }

    // MARK: - Behind a crash

    /// What has become of a file whose intent is written down. One that waits has to be open again.
    package mutating func found(_ finding: InterruptedPublication, now: ClockReading) -> [FinishAction] {
        guard let publication = record.publication else { return contradiction("found") }
        switch finding {
        case .done: return complete(publication, now)
        case .unclear: return [.settleLater] + release()
        case .pending:
            verified = publication.verified
            length = publication.size
            isCopied = publication.from != record.partial?.path
            return queue()
        case .lost:
            let failure = TransferFailure(.inputOutput, "The finished bytes are gone.")
            apply(FinishTrouble.unusable(failure, of: record, bootSeconds: now.bootSeconds), now)
            return close()
        }
    }

    /// What is here of a file whose intent was not written down yet.
    ///
    /// - Parameters:
    ///   - count: bytes from the start, in the file that is open; nil where none are here.
    ///   - isDivided: whether some may lie behind gaps.
    package mutating func found(count: Int64?, isDivided: Bool, now: ClockReading) -> [FinishAction] {
        if let count, count == record.partial?.total, !isDivided {
            record.received = count
            length = count
            wasContinued = count > 0
            return [.arrive]
        }
        // Not all of it outlived the crash: the ordinary way goes on from what is here.
        apply(.interrupt(.starting), now)
        return (count == nil ? [] : [.closeFile]) + close()
    }

    // MARK: - What follows

    /// Whether what was decided could be written down. Without that the older row holds.
    package mutating func saved(_ isSaved: Bool) -> [FinishAction] {
        switch phase {
        case .noting:
            if isSaved { entries = [] }
            phase = .verifying
            return [
                .verify(
                    asked: record.request.checksum, announced: record.partial?.digests ?? [],
                    coding: record.partial?.coding)
            ]
        case .intending(let publication) where isSaved && record.state == .finishing:
            phase = .publishing(publication)
            return [.publish(publication)]
        case .intending where isSaved:
            // A fault has ended it.
            return [.closeFile] + release()
        case .intending:
            // Most rows say that the bytes are still coming; a later attempt finds them all here. Others say 'finishing'.
            return [.settleLater, .closeFile] + release()
        case .closing(let remains):
            return (isSaved ? remains.map { [.remove($0)] } ?? [] : [.settleLater]) + release()
        case .idle, .verifying, .queued, .publishing, .reopening, .released:
            return contradiction("written down")
        }
    }

    private mutating func queue() -> [FinishAction] {
        phase = .queued
        return takeFaults() + [.queue]
    }

    private mutating func reopen(because failure: TransferFailure?) -> [FinishAction] {
        guard case .publishing(let publication) = phase else { return contradiction("to be opened") }
        refusal = failure
        // What is opened then may be the copy.
        isCopied = isCopied || publication.from != record.partial?.path
        phase = .reopening
        return [.reopen(publication)]
    }

    /// The bytes are not what they should be, or cannot be looked at; see ``FinishTrouble``.
    private mutating func wrongBytes(
        _ failure: TransferFailure, wasContinued: Bool, _ now: ClockReading, _ random: () -> Double
    ) -> [FinishAction] {
        let before = record
        let event = FinishTrouble.wrongBytes(
            failure, wasContinued: wasContinued, of: &record, bootSeconds: now.bootSeconds, random: random)
        apply(event, now)
        return close(removing: record.partial == nil ? .all(before) : nil)
    }

    private mutating func fetchAgain(_ failure: TransferFailure, _ now: ClockReading) -> [FinishAction] {
        let before = record
        apply(FinishTrouble.unusable(failure, of: record, bootSeconds: now.bootSeconds), now)
        return close(removing: .all(before))
    }

    private mutating func complete(_ publication: Publication, _ now: ClockReading) -> [FinishAction] {
        apply(publication.end, now)
        record.partial?.path = publication.to
        return close(leavingRestOfEnded: true)
    }

    /// Writes it down for the last time, and removes then what has no use for a task that has ended.
    private mutating func close(leavingRestOfEnded: Bool) -> [FinishAction] {
        close(removing: leavingRestOfEnded && record.state.isTerminal ? .rest(record) : nil)
    }

    /// Writes it down for the last time.
    private mutating func close(removing remains: FinishAction.Remains? = nil) -> [FinishAction] {
        phase = .closing(remains)
        return flush()
    }

    private mutating func flush() -> [FinishAction] {
        defer { entries = [] }
        return takeFaults() + [.save(record, entries)]
    }

    private mutating func release() -> [FinishAction] {
        phase = .released
        return takeFaults() + [.release]
    }

    private mutating func takeFaults() -> [FinishAction] {
        defer { faults = [] }
        return faults.map(FinishAction.fault)
    }

    /// An input that the phase has no exit for. The row says how far the task is: it is taken up from there.
    private mutating func contradiction(_ input: String) -> [FinishAction] {
        assertionFailure("Task \(record.id) was \(input), and its run is \(phase).")
        return [.settleLater] + release()
    }

    /// Every transition of the record goes this way.
    private mutating func apply(_ event: TaskEvent, _ now: ClockReading) {
        var fault: IllegalTransition?
        entries += record.transition(event, now: now) { fault = $0 }
        if let fault { faults.append(fault) }
    }
}

extension Publication {
    /// How the task ends once the file has its name.
    fileprivate var end: TaskEvent {
        if let failure { .fail(failure, file: to, resumeData: nil) } else { .complete(file: to, verified: verified) }
    }
}
