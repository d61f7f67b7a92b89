package import NightshiftAPI
package import Store

/// One running transfer: everything that is decided between its admission and its end.
///
/// Pure. Inputs are methods that return what is to be done, in order; whoever keeps the run does that and decides nothing. The
/// phases and their legal exits:
///
/// - `preparing`: nothing is under way. ``exchangeBegan()`` leads to `exchanging`; trouble before a byte was asked for to `saving` or
///   `closing`.
/// - `exchanging`: an exchange is under way, or several. Its end leads to `syncing`, `cutting`, `saving`, `closing` or `handedOver`.
/// - `syncing`: the service has ended the exchange, and its bytes are being synced. ``synced(_:_:_:)`` leads to `saving` or `closing`.
/// - `cutting`: the file loses what lies behind its gaps. ``cut(_:_:_:)`` leads to `saving` or `closing`.
/// - `saving`: it is being written down, to be asked again. ``saved(_:_:_:)`` leads to `preparing`, or to `closing` where somebody
///   wants it to stop by then.
/// - `closing`: it is being written down for the last time. ``saved(_:_:_:)`` leads to `released`.
/// - `handedOver`: a ``FinishRun`` carries it on.
/// - `keepingBody`: the last answer to an upload is being kept. ``bodyKept(_:_:)`` leads to `concluding`, or as trouble does to `saving`
///   or `closing`.
/// - `concluding`: the end of an upload that was answered is being written down. ``saved(_:_:_:)`` leads to `released`, or to `pausing`
///   where it could not be.
/// - `pausing`: ``concludeAgain(_:)`` leads to `keepingBody` or `concluding`.
/// - `questioned`: a server asks what only the task's app can say. ``asked(_:_:_:)`` leads to `closing`,
///   ``answeredMeanwhile(_:_:)`` to `released`.
/// - `released`: none.
package struct TransferRun: Sendable {
    package enum Phase: Hashable, Sendable {
        case preparing
        case exchanging
        case syncing
        case cutting(SegmentMap, reason: String)
        case saving
        /// What to throw away once that is written down.
        indirect case closing(discards: TaskRecord?)
        case handedOver
        case keepingBody(UploadConclusion)
        indirect case concluding(UploadConclusion, before: TaskRecord)
        case pausing(UploadConclusion)
        case questioned
        case released
    }

    package internal(set) var phase = Phase.preparing
    /// As it is in the store, but for what the present exchange has brought.
    @CopyOnWrite package var record: TaskRecord
    /// Boot seconds.
    package let startedAt: Double
    /// Where a download asks.
    package var round: SourceRound
    /// Why the service ends the exchange; nil while it may run.
    package internal(set) var stopping: Interruption?
    /// While its connection is in doubt.
    package var probation: Probation?
    /// What was looked at when it was admitted; goes with the entry that says so.
    package var inputs: [String: String] = [:]
    /// Questions asked again at once since the task was started, or since another URL is asked.
    package internal(set) var repetitions = 0
    /// Where the last exchange found the bytes, or the task's start an upload's: progress is counted from here.
    package var startCount: Int64 = 0
    /// Whether the row says that this attempt was begun.
    package var isNoted = false
    /// Boot seconds at which bytes were last synced.
    package var checkpointAt: Double
    /// Whether the record tells of the response that is being received.
    package var isAccepted = false
    /// Whether that response has begun at byte 0.
    private(set) var isFromStart = false
    /// What the row says of the bytes here, while mirrors are asked to go on with them.
    @CopyOnWrite package internal(set) var ownPartial: PartialFile? = nil
    /// Boot seconds at which the present exchange was begun, and at which its answer was taken.
    package var begunAt: Double = 0
    package var answeredAt: Double?
    /// Why one connection has to do, where an answer gave the reason.
    package var singleReason: String?
    /// Whether several connections have brought its bytes.
    package var wasDivided = false
    /// Entries of the journal that go into the next commit.
    package var entries: [JournalEntry] = []
    private var faults: [IllegalTransition] = []
    /// The record before its end was decided.
    @CopyOnWrite var recordBeforeEnd: TaskRecord? = nil

    package init(record: TaskRecord, startedAt: Double) {
        var record = record
        self.startedAt = startedAt
        checkpointAt = startedAt
        // Rows of older services may have them whatever is sent.
        let mirrors = record.request.isHarmlessElsewhere ? record.request.mirrors ?? [] : []
        // Resume data of a task that had others.
        if let mirror = record.partial?.mirror, !mirrors.contains(mirror) { record.partial?.leaveURL() }
        round = SourceRound(
            own: record.request.url ?? "", mirrors: mirrors, bytes: record.bytesURL, wrong: record.wrongSources)
        self.record = record
    }

    /// The record as it may be shown: of an end that is not written down yet it says nothing.
    package var shown: TaskRecord { recordBeforeEnd ?? record }

    /// Whether the bytes that are here may be given up for what is at the URL that is asked.
    package var mayRestart: Bool { round.mayRestart(bytes: record.bytesURL) || record.partial?.lossReason != nil }

    /// Whether its owner or the service has ended it for good, or for another reason than its connection.
    package var isEnding: Bool {
        switch stopping {
        case nil, .reconnect: false
        case .wait, .hold, .yield: true
        }
    }

    // MARK: - Inputs

    /// It was admitted: an attempt begins.
    package mutating func admitted(_ now: ClockReading) {
        entries += apply(.begin, now)
        if record.lastError?.code == .checksumMismatch { singleReason = "Bytes that had come were wrong" }
    }

    /// An exchange is under way. A stop that came while there was nothing to stop ends it.
    package mutating func exchangeBegan() -> [TransferAction] {
        phase = .exchanging
        return stopping == nil ? [] : [.cancel]
    }

    /// The service wants it to stop; what follows is decided when nothing is under way any more.
    package mutating func interrupt(_ interruption: Interruption) -> [TransferAction] {
        stopping = interruption
        return phase == .exchanging ? [.cancel] : []
    }

    /// The server's answer is taken.
    package mutating func accept(_ accepted: AcceptedResponse, _ now: ClockReading) {
        isAccepted = true
        isFromStart = accepted.offset == 0
        var told = apply(.accept(accepted), now)
        if !inputs.isEmpty, !told.isEmpty { told[told.count - 1].inputs = inputs }
        entries += told
    }

    /// - Parameter isSynced: whether the bytes are on disk; nil where there was no file.
    package mutating func synced(
        _ isSynced: Bool?, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        if isSynced == false {
            record.partial?.distrustUnsynced()
        } else if isSynced == true, isAccepted {
            let received = record.received
            record.partial?.noteSynced(received)
        }
        return interrupted(context, &hosts)
    }

    /// Whether it could be written down. Without that the older row holds, and the bytes behind it are found by the file's length.
    package mutating func saved(
        _ isSaved: Bool, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        switch phase {
        case .closing(let discarded):
            phase = .released
            return (isSaved ? discarded.map { [.discard($0)] } ?? [] : []) + [.release]
        case .saving where isSaved:
            return goOn(context, &hosts)
        case .saving:
            hosts.abandoned(context.way, began: startedAt)
            phase = .released
            return [.release]
        case .concluding(let conclusion, let before):
            return concluded(isSaved, conclusion, before: before, context)
        case .preparing, .exchanging, .syncing, .cutting, .handedOver, .keepingBody, .pausing, .questioned, .released:
            assertionFailure("Task \(record.id) was written down, and its run is \(phase).")
            return []
        }
    }

    /// Others made a copy of this run before it was told to stop.
    mutating func keepStop(of latest: TransferRun) {
        if let interruption = latest.stopping { stopping = interruption }
    }

    /// Nobody waits any longer for what is under way: its file system does not answer, and the task is wanted to stop.
    package mutating func left(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        guard canBeLeft else { return [] }
        // A sync that was not waited for may have failed.
        record.partial?.distrustUnsynced()
        return interrupted(context, &hosts)
    }

    /// Whether it waits for a file system, or for an exchange that may do so.
    package var canBeLeft: Bool {
        switch phase {
        case .preparing, .exchanging, .syncing, .cutting: isEnding
        default: false
        }
    }

    // MARK: - What follows

    /// Asks, unless somebody wants it to stop by now.
    mutating func goOn(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        // A fault has ended it.
        if record.state.isTerminal { return close() }
        guard stopping == nil, !context.isServiceStopping else { return interrupted(context, &hosts) }
        phase = .preparing
        return [.ask]
    }

    /// The service itself has ended the exchange; what that brought is kept.
    mutating func interrupted(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        let interruption = stopping ?? .wait(.starting)
        if case .reconnect = interruption { return reconnect(context.now) }
        returnFromMirrors()
        hosts.abandoned(context.way, began: startedAt)
        let event = TaskEvent.interrupt(
            interruption.reason, detail: interruption.detail, notBefore: interruption.notBefore)
        var told = apply(event, context.now)
        for index in told.indices { told[index].inputs = interruption.inputs }
        entries += told
        return close()
    }

    /// Goes on at once over a new connection: the old one is to blame, not the host.
    mutating func reconnect(_ now: ClockReading) -> [TransferAction] {
        if case .reconnect? = stopping { stopping = nil }
        probation = nil
        record.attempts += 1
        entries.append(JournalEntry(time: now.date, decision: .reconnected, task: record.id))
        return save()
    }

    /// No mirror has gone on with the bytes: they are what they were.
    mutating func returnFromMirrors() {
        if let ownPartial, record.partial?.isOfAnotherURL == true { record.partial = ownPartial }
        ownPartial = nil
    }

    /// Writes it down, to ask then.
    mutating func save() -> [TransferAction] {
        phase = .saving
        return flush()
    }

    /// Writes it down for the last time.
    mutating func close(discarding discarded: TaskRecord? = nil) -> [TransferAction] {
        phase = .closing(discards: discarded)
        return flush()
    }

    mutating func flush() -> [TransferAction] {
        defer { entries = [] }
        return takeFaults() + [.save(record, entries)]
    }

    /// Writes it down while its exchange goes on, which a fault ends.
    mutating func note(_ told: [JournalEntry] = []) -> [TransferAction] {
        let actions = takeFaults() + [.note(record, entries + told)]
        entries = []
        isNoted = true
        return record.state.isTerminal ? actions + interrupt(.wait(.starting)) : actions
    }

    /// Writes it down for the last time, with a question for its app.
    mutating func close(asking challenge: Challenge) -> [TransferAction] {
        phase = .closing(discards: nil)
        defer { entries = [] }
        return takeFaults() + [.saveQuestion(challenge, record, entries)]
    }

    private mutating func takeFaults() -> [TransferAction] {
        defer { faults = [] }
        return faults.map(TransferAction.fault)
    }

    /// Others carry it on.
    mutating func handOver(_ action: ([JournalEntry]) -> TransferAction) -> [TransferAction] {
        phase = .handedOver
        defer { entries = [] }
        return takeFaults() + [action(entries)]
    }

    /// Every transition of the record goes this way.
    mutating func apply(_ event: TaskEvent, _ now: ClockReading) -> [JournalEntry] {
        switch event {
        case .interrupt, .hold, .fail, .ask: recordBeforeEnd = recordBeforeEnd ?? record
        default: break
        }
        var fault: IllegalTransition?
        defer { if let fault { faults.append(fault) } }
        return record.transition(event, now: now) { fault = $0 }
    }
}

extension TaskRecord {
    /// The URL that the bytes here came from has sent the whole, and it is not what was asked for.
    ///
    /// Without a checksum nothing says that another URL's file is the right one.
    ///
    /// - Returns: whether there is another URL that may have it.
    mutating func noteWrongSource() -> Bool {
        guard request.checksum != nil else { return false }
        let urls = [request.url ?? ""] + (request.mirrors ?? [])
        let source = bytesURL ?? urls[0]
        let places = urls.indices.filter { urls[$0] == source && !wrongSources.contains($0) }
        wrongSources += places
        return !places.isEmpty && wrongSources.count < urls.count
    }

    /// Where the bytes here came from; nil where there are none.
    var bytesURL: String? { partial.map { $0.mirror ?? request.url ?? "" } }

    /// The answer that is not believed yet.
    var doubt: AnswerDoubt? { partial?.doubt ?? upload?.doubt ?? firstDoubt }

    /// The name that says what a download's request expects: its owner's where that has an ending, else the URL's.
    var expectedName: String? {
        if let chosen = request.destination?.filename, chosen.dropFirst().contains(".") { return chosen }
        return request.url.map { FileName.derive(contentDisposition: nil, url: $0) }
    }

    /// ``ResponsePolicy/decodes``: not for files that the service keeps for apps.
    var decodes: Bool { session == .terminal || request.destination != nil }

    /// Whether a later task could continue from the bytes that are here, or at the server.
    var isResumable: Bool {
        if upload != nil { return true }
        guard kind == .download, method == "GET", let partial, received > 0 else { return false }
        return ExchangePlan(partial: partial.bytes(count: received, checksum: nil)).asksForRange
    }
}
