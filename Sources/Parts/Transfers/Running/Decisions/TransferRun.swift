package import NightshiftAPI
package import Store

/// One running transfer: all decisions between its admission and its end.
///
/// This is a pure value. Inputs are methods that return the actions to execute, in order. The owner of the run executes
/// them and decides nothing. These are the phases and their legal exits:
///
/// - `preparing`: no exchange is running. ``exchangeBegan()`` leads to `exchanging`; a failure before the request was
///   sent leads to `saving` or `closing`.
/// - `exchanging`: one or several exchanges are running. Their end leads to `syncing`, `cutting`, `saving`, `closing`
///   or `handedOver`.
/// - `syncing`: the service has ended the exchange, and its bytes are being synced. ``synced(_:_:_:)`` leads to
///   `saving` or `closing`.
/// - `cutting`: the file is being truncated to its contiguous beginning. ``cut(_:_:_:)`` leads to `saving` or
///   `closing`.
/// - `saving`: a commit before the next request is in progress. ``saved(_:_:_:)`` leads to `preparing`, or to `closing`
///   if a stop was requested meanwhile.
/// - `closing`: the last commit is in progress. ``saved(_:_:_:)`` leads to `released`.
/// - `handedOver`: a ``FinishRun`` continues the task.
/// - `keepingBody`: the last response to an upload is being stored. ``bodyKept(_:_:)`` leads to `concluding`, or like
///   other failures to `saving` or `closing`.
/// - `concluding`: the end of an answered upload is being committed. ``saved(_:_:_:)`` leads to `released`, or to
///   `pausing` after a failed commit.
/// - `pausing`: ``concludeAgain(_:)`` leads to `keepingBody` or `concluding`.
/// - `questioned`: a server sent a challenge that only the task's app can answer. ``asked(_:_:_:)`` leads to `closing`,
///   ``answeredMeanwhile(_:_:)`` to `released`.
/// - `released`: no exit.
package struct TransferRun: Sendable {
    package enum Phase: Hashable, Sendable {
        case preparing
        case exchanging
        case syncing
        case cutting(SegmentMap, reason: String)
        case saving
        /// The record whose bytes are discarded after the commit.
        indirect case closing(discards: TaskRecord?)
        case handedOver
        case keepingBody(UploadConclusion)
        case concluding(UploadConclusion)
        case pausing(UploadConclusion)
        case questioned
        case released
    }

    package internal(set) var phase = Phase.preparing
    /// The record in the store, with the results of the current exchange.
    @CopyOnWrite package internal(set) var record: TaskRecord
    /// The start of the attempt, in boot seconds.
    package let startedAt: Double
    /// The URLs of a download, in the order in which they are requested.
    package internal(set) var round: SourceRound
    /// The reason why the service ends the exchange; nil while the exchange may run.
    package private(set) var stopping: Interruption?
    /// The connection check in progress.
    package internal(set) var connectionCheck: ConnectionCheck?
    /// The values that led to the admission, for the journal entry about it.
    private let inputs: [String: String]
    /// The number of immediate requests since the task was started, or since the URL changed.
    package internal(set) var repetitions = 0
    /// The number of bytes when the last exchange began, or for an upload when the task started. Progress is counted
    /// from this number.
    package internal(set) var startCount: Int64 = 0
    /// Whether the row says that this attempt has begun.
    package private(set) var isNoted = false
    /// The last sync of bytes, in boot seconds.
    var checkpointAt: Double
    /// Whether the record describes the response that is being received.
    package internal(set) var isAccepted = false
    /// Whether the response that is being received began at byte 0.
    private(set) var isFromStart = false
    /// The row's description of the bytes on disk. The run keeps this description while it tries mirrors from which the
    /// download may resume.
    @CopyOnWrite package internal(set) var ownPartial: PartialFile? = nil
    /// The start of the current exchange, and the time of its accepted response, in boot seconds.
    package internal(set) var begunAt: Double = 0
    package internal(set) var answeredAt: Double?
    /// The reason, found in a response, why only one connection can be used.
    package internal(set) var singleReason: String?
    /// Whether the bytes came over several connections.
    package internal(set) var wasDivided = false
    /// The journal entries for the next commit.
    package internal(set) var entries: [JournalEntry] = []
    private var faults: [IllegalTransition] = []
    /// The record as it was before the run decided how the task ends; nil before that decision.
    @CopyOnWrite var recordBeforeEnd: TaskRecord? = nil

    /// Creates the run of a task that is about to start.
    ///
    /// - Parameter inputs: the values that led to the admission.
    package init(record: TaskRecord, startedAt: Double, inputs: [String: String] = [:]) {
        var record = record
        self.startedAt = startedAt
        self.inputs = inputs
        checkpointAt = startedAt
        // Rows that older versions of the service wrote may have mirrors with any method.
        let mirrors = record.request.isHarmlessElsewhere ? record.request.mirrors ?? [] : []
        // The resume data may come from a task with other mirrors.
        if let mirror = record.partial?.mirror, !mirrors.contains(mirror) { record.partial?.leaveURL() }
        round = SourceRound(
            own: record.request.url ?? "", mirrors: mirrors, bytes: record.bytesURL, wrong: record.wrongSources)
        self.record = record
    }

    /// The record for status reports. It does not contain an end that is not committed yet.
    package var shown: TaskRecord { recordBeforeEnd ?? record }

    /// Whether the bytes on disk may be discarded for the file at the current URL.
    package var mayRestart: Bool { round.mayRestart(bytes: record.bytesURL) || record.partial?.lossReason != nil }

    /// Whether the exchange was asked to stop for a reason other than its connection.
    package var isEnding: Bool {
        switch stopping {
        case nil, .reconnect: false
        case .wait, .hold, .yield: true
        }
    }

    // MARK: - Inputs

    /// Begins an attempt after the task's admission.
    package mutating func admitted(_ now: ClockReading) {
        entries += apply(.begin, now)
        if record.lastError?.code == .checksumMismatch { singleReason = "Received bytes were wrong" }
    }

    /// Records that an exchange is running. If a stop was requested before, the exchange is cancelled.
    package mutating func exchangeBegan() -> [TransferAction] {
        phase = .exchanging
        return stopping == nil ? [] : [.cancel]
    }

    /// Requests a stop. The next step is decided when nothing runs any longer.
    package mutating func interrupt(_ interruption: Interruption) -> [TransferAction] {
        stopping = interruption
        return phase == .exchanging ? [.cancel] : []
    }

    /// Records that the row says that this attempt has begun.
    package mutating func attemptNoted() { isNoted = true }

    /// Records the server's accepted response.
    package mutating func accept(_ accepted: AcceptedResponse, _ now: ClockReading) {
        isAccepted = true
        isFromStart = accepted.offset == 0
        var told = apply(.accept(accepted), now)
        if !inputs.isEmpty, !told.isEmpty { told[told.count - 1].inputs = inputs }
        entries += told
    }

    /// Continues after a sync.
    ///
    /// - Parameter isSynced: whether the bytes are on disk; nil without a file.
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

    /// Continues after a commit. If it failed, the older row is still valid, and the newer bytes are found by the
    /// file's length.
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
        case .concluding(let conclusion): return concluded(isSaved, conclusion, context)
        case .preparing, .exchanging, .syncing, .cutting, .handedOver, .keepingBody, .pausing, .questioned, .released:
            assertionFailure("Task \(record.id) was committed, but its run is in the phase \(phase).")
            return []
        }
    }

    /// Stops waiting for an exchange or sync that is blocked by a silent file system, because the task has to stop.
    package mutating func left(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        guard canBeLeft else { return [] }
        // The sync may fail later, and the service would not notice this failure.
        record.partial?.distrustUnsynced()
        return interrupted(context, &hosts)
    }

    /// Whether the run waits for a file system, or for an exchange that may wait for one.
    package var canBeLeft: Bool {
        switch phase {
        case .preparing, .exchanging, .syncing, .cutting: isEnding
        default: false
        }
    }

    // MARK: - Next steps

    /// Begins the next exchange, unless a stop was requested.
    mutating func goOn(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        // An illegal transition has ended the task.
        if record.state.isTerminal { return close() }
        guard stopping == nil, !context.isServiceStopping else { return interrupted(context, &hosts) }
        phase = .preparing
        return [.ask]
    }

    /// Handles an exchange that the service itself has ended. Its bytes are kept.
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

    /// Continues at once over a new connection. The failure is attributed to the old connection, not to the host.
    mutating func reconnect(_ now: ClockReading) -> [TransferAction] {
        if case .reconnect? = stopping { stopping = nil }
        connectionCheck = nil
        record.attempts += 1
        entries.append(JournalEntry(time: now.date, decision: .reconnected, task: record.id))
        return save()
    }

    /// Restores the description of the bytes on disk, because the download has resumed from none of the mirrors.
    mutating func returnFromMirrors() {
        if let ownPartial, record.partial?.isOfAnotherURL == true { record.partial = ownPartial }
        ownPartial = nil
    }

    /// Commits the task, before its next request.
    mutating func save() -> [TransferAction] {
        phase = .saving
        return flush()
    }

    /// Commits the task for the last time.
    mutating func close(discarding discarded: TaskRecord? = nil) -> [TransferAction] {
        phase = .closing(discards: discarded)
        return flush()
    }

    mutating func flush() -> [TransferAction] {
        defer { entries = [] }
        return takeFaults() + [.save(record, entries)]
    }

    /// Commits the task while its exchange continues. An illegal transition ends the exchange.
    mutating func note(_ told: [JournalEntry] = []) -> [TransferAction] {
        let actions = takeFaults() + [.note(record, entries + told)]
        entries = []
        isNoted = true
        return record.state.isTerminal ? actions + interrupt(.wait(.starting)) : actions
    }

    /// Commits the task for the last time, together with a question for its app.
    mutating func close(asking challenge: Challenge) -> [TransferAction] {
        phase = .closing(discards: nil)
        defer { entries = [] }
        return takeFaults() + [.saveQuestion(challenge, record, entries)]
    }

    private mutating func takeFaults() -> [TransferAction] {
        defer { faults = [] }
        return faults.map(TransferAction.fault)
    }

    /// Hands the task over to another owner.
    mutating func handOver(_ action: ([JournalEntry]) -> TransferAction) -> [TransferAction] {
        phase = .handedOver
        defer { entries = [] }
        return takeFaults() + [action(entries)]
    }

    /// Applies an event to the record. All its transitions use this function.
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
    /// Records that the URL which sent all bytes on disk has sent the wrong file.
    ///
    /// Without a checksum, the service cannot know whether another URL has the right file.
    ///
    /// - Returns: whether another URL may have the right file.
    mutating func noteWrongSource() -> Bool {
        guard request.checksum != nil else { return false }
        let urls = [request.url ?? ""] + (request.mirrors ?? [])
        let source = bytesURL ?? urls[0]
        let places = urls.indices.filter { urls[$0] == source && !wrongSources.contains($0) }
        wrongSources += places
        return !places.isEmpty && wrongSources.count < urls.count
    }

    /// The URL that the bytes on disk came from; nil without bytes.
    var bytesURL: String? { partial.map { $0.mirror ?? request.url ?? "" } }

    /// The last suspect response.
    var doubt: SuspectResponse? { partial?.doubt ?? upload?.doubt ?? firstDoubt }

    /// The expected name of a download's file. This is the name that the owner chose if it has an extension, otherwise
    /// the name in the URL.
    var expectedName: String? {
        if let chosen = request.destination?.filename, chosen.dropFirst().contains(".") { return chosen }
        return request.url.map { FileName.derive(contentDisposition: nil, url: $0) }
    }

    /// The value of ``ResponsePolicy/decodes``: false for files that the service stores for apps.
    var decodes: Bool { session == .terminal || request.destination != nil }

    /// Whether a later task could continue from the bytes on disk, or from the bytes on the server.
    var isResumable: Bool {
        if upload != nil { return true }
        guard kind == .download, method == "GET", let partial, received > 0 else { return false }
        return ExchangePlan(partial: partial.bytes(count: received, checksum: nil)).asksForRange
    }
}
