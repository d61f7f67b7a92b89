package import NightshiftAPI
package import Store

/// One download from its last byte to its final name: all decisions after the bytes are complete.
///
/// Like ``TransferRun``, which hands downloads over, this is a pure value. Each step is on disk before the next one
/// begins, so that the row is enough to recover from a crash between any two steps. These are the phases and their
/// legal exits:
///
/// - `idle`: ``arrived(size:hasHoles:now:)`` leads to `noting`, `queued` or `closing`. After a crash, ``found(_:now:)``
///   leads to `queued`, `closing` or `released`, and ``found(count:isDivided:now:)`` to `idle` or `closing`.
/// - `noting`: the start of verification is being committed. ``saved(_:)`` leads to `verifying`.
/// - `verifying`: ``verified(_:now:random:)`` leads to `queued`, `closing` or `released`.
/// - `queued`: ``prepared(_:now:)`` leads to `intending`; ``unprepared(_:now:random:)`` and ``replaced(_:now:)`` to
///   `closing`, the former once to `queued` again.
/// - `intending`: the chosen name is being committed. ``saved(_:)`` leads to `publishing` or `released`.
/// - `publishing`: ``published(now:)`` and ``replaced(_:now:)`` lead to `closing`, ``nameTaken()`` to `reopening`,
///   ``unreachable(now:)`` and ``unplaced(_:now:)`` to either, ``unsynced()`` to `released`.
/// - `reopening`: ``reopened(isSame:)`` leads to `queued` or `released`.
/// - `closing`: the last commit is in progress. ``saved(_:)`` leads to `released`.
/// - `released`: no exit.
package struct FinishRun: Sendable {
    package enum Phase: Hashable, Sendable {
        case idle
        case noting
        case verifying
        case queued
        case intending(Publication)
        case publishing(Publication)
        case reopening
        /// The files to remove after the commit.
        indirect case closing(FinishAction.Remains?)
        case released
    }

    package private(set) var phase = Phase.idle
    /// The record in the store, with the decisions that are not committed yet.
    @CopyOnWrite package private(set) var record: TaskRecord
    /// The number of bytes that were written, or found complete. The file must have exactly this length.
    package private(set) var length: Int64
    /// The names of the digests that were compared and correct.
    package private(set) var verified: [String] = []
    /// The reason why the file cannot go to its destination. If there is one, the service stores the file.
    package private(set) var refusal: TransferFailure?
    /// Whether the file cannot be renamed from its current path. A copy next to the destination then gets the name.
    package private(set) var isCopied = false
    /// The decoded file, which gets the name instead of the received file.
    package private(set) var decoded: PartialFile?
    /// Whether the bytes came in several exchanges.
    private var wasContinued: Bool
    /// The journal entries for the next commit.
    private var entries: [JournalEntry]
    private var faults: [IllegalTransition] = []

    /// Creates the run of a download whose bytes are complete.
    ///
    /// - Parameters:
    ///   - entries: the entries that are not in the journal yet.
    ///   - length: the length of the file; by default the received bytes of the record.
    package init(
        record: TaskRecord, entries: [JournalEntry] = [], length: Int64? = nil, wasContinued: Bool = false
    ) {
        self.record = record
        self.entries = entries
        self.length = length ?? record.received
        self.wasContinued = wasContinued
    }

    // MARK: - Before the queue

    /// Begins with an open file that has all bytes.
    ///
    /// - Parameters:
    ///   - size: the size of the file; nil if it cannot be read.
    ///   - hasHoles: whether some bytes in the file were never written.
    package mutating func arrived(size: Int64?, hasHoles: Bool, now: ClockReading) -> [FinishAction] {
        assert(phase == .idle, "The bytes of task \(record.id) arrived, but its run is in the phase \(phase).")
        record.received = size ?? length
        // After a crash, the task may already be finishing.
        if record.state != .finishing { apply(.finish(nil), now) }
        // An illegal transition has ended the task.
        guard record.state == .finishing else { return [.closeFile] + close() }
        guard size == length, !hasHoles else {
            let words =
                size == length
                ? "some bytes within the file are missing"
                : "the partial file has \(size ?? 0) bytes instead of \(length)"
            return [.closeFile] + fetchAgain(.replaced(words), now)
        }
        let partial = record.partial
        guard record.request.checksum != nil || partial?.digests.isEmpty == false || partial?.coding != nil else {
            return queue()
        }
        // Verification takes time, so the state is committed first.
        phase = .noting
        return takeFaults() + [.save(record, entries)]
    }

    /// Continues after the verification.
    ///
    /// - Parameter result: the verified file, which is open now, or the failure.
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
            // The row shows the progress, so the next run of the service continues from there.
            return [.closeFile] + release()
        case .failure(let failure) where failure.code == .diskFull:
            // The bytes are correct, but the disk has no space for the decoded bytes.
            return unprepared(failure, areBytesSafe: true, now: now, random: random)
        case .failure(let failure):
            return [.closeFile] + wrongBytes(failure, wasContinued: wasContinued, now, random)
        }
    }

    // MARK: - From the queue to the name

    /// Continues with synced data and a chosen name.
    package mutating func prepared(_ publication: Publication, now: ClockReading) -> [FinishAction] {
        assert(phase == .queued, "Task \(record.id) was prepared, but its run is in the phase \(phase).")
        if let decoded {
            record.partial = decoded
            record.response?.remark = .decoded
            self.decoded = nil
        }
        apply(.publish(publication), now)
        phase = .intending(publication)
        return flush()
    }

    /// Handles a file that could not be synced, or for which no name was found. If the destination refuses the file
    /// permanently, the service stores the file.
    ///
    /// - Parameter areBytesSafe: whether the data is on disk. If so, the file is not fetched again, whatever happens at
    ///   the destination.
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

    /// Lets the task wait with all its bytes, because the destination folder is missing.
    package mutating func folderIsMissing(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        apply(.hold(.forFolder(failure, bootSeconds: now.bootSeconds)), now)
        return [.closeFile] + close()
    }

    /// Handles a file that was changed by another process after its bytes were written.
    ///
    /// - Parameter failure: the failure that shows the change.
    package mutating func replaced(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        let isOpen = phase == .queued
        return (isOpen ? [.closeFile] : []) + fetchAgain(failure, now)
    }

    /// Completes the task: the file has its name, durably.
    package mutating func published(now: ClockReading) -> [FinishAction] {
        guard case .publishing(let publication) = phase else { return contradiction("published") }
        return complete(publication, now)
    }

    /// Chooses the next name, because another process has created a file with this name in the meantime.
    package mutating func nameTaken() -> [FinishAction] { reopen(because: nil) }

    /// Handles a rename that fails although both paths seem to be on one file system. The cause is a mount, a quota or
    /// an encryption key (rename(2), EXDEV). A copy of the file gets the name.
    package mutating func unreachable(now: ClockReading) -> [FinishAction] {
        guard !isCopied else {
            return unplaced(TransferFailure(.inputOutput, "The file cannot be moved within its directory."), now: now)
        }
        isCopied = true
        return reopen(because: refusal)
    }

    /// Handles a directory that could not be synced, so that a power cut might undo the rename. The intent stays
    /// committed until the directory can be synced.
    package mutating func unsynced() -> [FinishAction] { [.settleLater] + release() }

    /// Handles a file that could not be renamed.
    package mutating func unplaced(_ failure: TransferFailure, now: ClockReading) -> [FinishAction] {
        guard
            let event = FinishTrouble.unplaced(failure, isRefused: refusal != nil, bootSeconds: now.bootSeconds)
        else { return reopen(because: failure) }
        apply(event, now)
        return close(leavingRestOfEnded: true)
    }

    /// Continues after reopening the file.
    ///
    /// - Parameter isSame: whether the file is the one that the intent names; nil if the file could not be opened.
    package mutating func reopened(isSame: Bool?) -> [FinishAction] {
        assert(phase == .reopening, "The file of task \(record.id) was opened, but its run is in the phase \(phase).")
        guard let isSame else { return [.settleLater] + release() }
        // A file never has this length, so the next check fetches the file again.
        if !isSame { length = -1 }
        return queue()
    }

    // MARK: - After a crash

    /// Continues a publication whose intent was committed. If the publication is pending, its file must have been
    /// opened again.
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
            let failure = TransferFailure(.inputOutput, "The downloaded bytes are gone.")
            apply(FinishTrouble.unusable(failure, of: record, bootSeconds: now.bootSeconds), now)
            return close()
        }
    }

    /// Continues a file whose intent was not committed yet.
    ///
    /// - Parameters:
    ///   - count: the bytes from the start of the open file; nil if there are none.
    ///   - isDivided: whether some bytes may follow gaps.
    package mutating func found(count: Int64?, isDivided: Bool, now: ClockReading) -> [FinishAction] {
        if let count, count == record.partial?.total, !isDivided {
            record.received = count
            length = count
            wasContinued = count > 0
            return [.arrive]
        }
        // The crash lost some bytes, so the download continues from the bytes that are left.
        apply(.interrupt(.starting), now)
        return (count == nil ? [] : [.closeFile]) + close()
    }

    // MARK: - Commits and ends

    /// Continues after a commit. After a failed commit, the older row is still valid.
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
            // An illegal transition has ended the task.
            return [.closeFile] + release()
        case .intending:
            // Most of these rows say that bytes are missing, although all of them are on disk. A later attempt finds
            // the bytes. The other rows say 'finishing'.
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
        // The file that is opened next may be the copy.
        isCopied = isCopied || publication.from != record.partial?.path
        phase = .reopening
        return [.reopen(publication)]
    }

    /// Handles bytes that are wrong or cannot be checked; see ``FinishTrouble``.
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

    /// Commits the task for the last time. If the task has ended, also removes the files at its other paths.
    private mutating func close(leavingRestOfEnded: Bool) -> [FinishAction] {
        close(removing: leavingRestOfEnded && record.state.isTerminal ? .rest(record) : nil)
    }

    /// Commits the task for the last time.
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

    /// Handles an input that is not allowed in the current phase. The row shows the progress, and the task is continued
    /// from there.
    private mutating func contradiction(_ input: String) -> [FinishAction] {
        assertionFailure("Task \(record.id) was \(input), but its run is in the phase \(phase).")
        return [.settleLater] + release()
    }

    /// Applies an event to the record. All its transitions use this function.
    private mutating func apply(_ event: TaskEvent, _ now: ClockReading) {
        var fault: IllegalTransition?
        entries += record.transition(event, now: now) { fault = $0 }
        if let fault { faults.append(fault) }
    }
}

extension Publication {
    /// The event that ends the task when the file has its name.
    fileprivate var end: TaskEvent {
        if let failure { .fail(failure, file: to, resumeData: nil) } else { .complete(file: to, verified: verified) }
    }
}
