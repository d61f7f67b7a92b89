import Clock
import Glibc
import Mounts
import NightshiftAPI
import Scheduler
import Store

/// Downloads over several connections: from the first response that can be split to the execution of the scheduler's
/// actions.
extension TransferService {
    // MARK: - Beginning

    /// Adds connections to a download whose first response is arriving, if that is allowed and worthwhile.
    func divide(_ id: TaskID) async {
        // If the exchange has ended meanwhile, its file is already closed.
        guard let transfer = active[id], transfer.run.phase == .exchanging, transfer.stopping == nil,
            transfer.isAccepted, transfer.singleReason == nil,
            case .download(let receiver, let handle) = transfer.exchange, receiver.ceiling.value == .max,
            let partial = transfer.record.partial,
            // Whenever a transfer ends, this function runs for every other transfer. It therefore excludes small files
            // first.
            (partial.total ?? 0) - receiver.position.value >= SegmentEligibility.leastMissing,
            let reception = receiver.reception, let descriptor = reception.descriptor,
            let identity = partial.sourceIdentity(checksum: transfer.record.request.checksum),
            let servedEnd = reception.servedEnd(method: transfer.record.method, count: receiver.position.value)
        else { return }
        let limits = segmentLimits(transfer)
        guard limits.inAll(sources: transfer.round.all.count) > 1 else { return }
        let now = now.bootSeconds
        let position = receiver.position.value
        let map = SegmentMap(total: identity.total, count: position, synced: partial.synced)
        if let old = receiver.openDescriptor, old != descriptor { closeFile(old, at: transfer.place) }
        var segments = SegmentedDownload(
            scheduler: SegmentScheduler(map: map, limits: limits, sources: transfer.round.all.count, now: now),
            sources: transfer.sources(identity), descriptor: descriptor, ceiling: ByteMeter(0), isRecorded: false)
        segments.connections[ConnectionID(0)] = SegmentedDownload.Connection(
            source: 0, handle: handle, position: receiver.position, end: receiver.end)
        let actions = segments.scheduler.adopt(
            position: position, servedEnd: servedEnd, begunAt: transfer.begunAt,
            answeredAt: transfer.answeredAt ?? now, now: now)
        active[id]?.exchange = .segments(segments)
        await execute(actions, id)
    }

    /// Continues a file that has gaps.
    ///
    /// - Returns: false if a single connection must continue instead. The file was then truncated to its contiguous
    ///   beginning, and `transfer` is updated.
    func fillGaps(_ transfer: inout ActiveTransfer, _ opened: OpenPartial) async -> Bool {
        guard let map = opened.segments, var partial = transfer.record.partial else { return false }
        partial.bootID = now.bootID
        guard !map.isContiguous, let identity = partial.sourceIdentity(checksum: transfer.record.request.checksum),
            transfer.singleReason == nil
        else {
            let isCut = await onFileSystem(transfer.place, .files, partial.path) {
                PartialStorage.cut(opened.descriptor, to: map.prefix)
            }
            guard isCut == true else { return false }
            partial.segments = nil
            partial.synced = map.synced.prefix
            partial.length = map.prefix
            transfer.record.partial = partial
            return false
        }
        let now = now.bootSeconds
        partial.segments = map
        partial.synced = map.synced.prefix
        transfer.record.partial = partial
        transfer.record.received = map.count
        transfer.startCount = map.count
        transfer.record.noteStart()
        transfer.isAccepted = false
        transfer.wasDivided = true
        var segments = SegmentedDownload(
            scheduler: SegmentScheduler(
                map: map, limits: segmentLimits(transfer), sources: transfer.round.all.count, now: now),
            sources: transfer.sources(identity), descriptor: opened.descriptor, ceiling: ByteMeter(.max),
            isRecorded: true)
        let actions = segments.scheduler.start(now: now)
        transfer.exchange = .segments(segments)
        exchangeBegan(transfer)
        await execute(actions, transfer.record.id)
        return true
    }

    // MARK: - Allowed connections

    /// Returns the number of connections that a download may use now: the limit of its session for this host, minus the
    /// connections that other transfers use there.
    private func segmentLimits(_ transfer: ActiveTransfer) -> SegmentLimits {
        let record = transfer.record
        let others = placeHolders.filter { $0.record.lane == record.lane && $0.record.id != record.id }
        let used = others.reduce(claims.reserved[record.lane] ?? 0) { $0 + $1.connectionCount }
        var most = max(record.request.connections ?? 1, record.maximumConnections - used)
        if let host = hosts.mostConnections(record.origin, now: now.bootSeconds) { most = min(most, host) }
        // A rate-limited download needs only one connection.
        if record.request.rateLimit != nil { most = 1 }
        return SegmentLimits(
            connectionsPerHost: most, forced: record.request.connections,
            isDiscretionary: record.rules.discretion != .none)
    }

    /// Closes connections because tasks that start immediately afterwards need free connections.
    func makeWay(for records: [TaskRecord]) async {
        claims.reserved = records.reduce(into: [:]) { $0[$1.lane, default: 0] += 1 }
        await spreadConnections()
        claims.reserved = [:]
    }

    /// Applies the current limit to every split download. The limit rises when other transfers end, and falls when
    /// other transfers begin.
    func spreadConnections() async {
        let now = now.bootSeconds
        for id in active.keys.sorted() {
            guard let transfer = active[id], transfer.record.kind == .download else { continue }
            guard let segments = transfer.segments, segments.conclusion == nil, transfer.stopping == nil else {
                await divide(id)
                continue
            }
            let limits = segmentLimits(transfer)
            guard limits != segments.scheduler.limits else { continue }
            let actions = active[id]?.segments?.scheduler.change(limits, now: now) ?? []
            await execute(actions, id)
        }
    }

    // MARK: - Executing actions

    /// Reads the positions of the connections when the scheduler's deadline has come.
    private func updateSegments(_ id: TaskID, _ bootSeconds: Double) async {
        guard let transfer = active[id], let segments = transfer.segments, segments.look.moment == bootSeconds,
            segments.conclusion == nil, transfer.stopping == nil
        else { return }
        active[id]?.segments?.look.rang(bootSeconds)
        let now = now.bootSeconds
        let limits = segmentLimits(transfer)
        var actions = active[id]?.segments?.scheduler.change(limits, now: now) ?? []
        actions += active[id]?.segments?.scheduler.progressed(segments.positions, now: now) ?? []
        await execute(actions, id)
    }

    /// Executes the scheduler's actions in their order.
    func execute(_ actions: [SegmentAction], _ id: TaskID) async {
        var begun = false
        for action in actions {
            guard let segments = active[id]?.segments else { return }
            switch action {
            case .begin(let number, let source, let range):
                // If a connection began after all others were ended, nothing would end that connection.
                guard active[id]?.stopping == nil, segments.conclusion == nil else { continue }
                begin(number, source, range, id, segments)
                begun = true
            case .setEnd(let number, let end):
                guard let connection = segments.connections[number] else { continue }
                connection.end.value = end
                // Otherwise the connection would end only when its next byte arrives.
                if connection.position.value >= end { connection.handle.cancel() }
            case .stop(let number, _):
                active[id]?.segments?.connections[number]?.isStopped = true
                segments.connections[number]?.handle.cancel()
            case .dropSource(let source, let reason):
                // The path and query are omitted, because they may contain secrets.
                note(.mirrorDropped, id, "\(segments.origin(source)): \(reason).")
            case .limitHost(let source, let connections, let until):
                hosts.limit(segments.origin(source), to: connections, until: until, now: now.bootSeconds)
                note(.undivided, id, "The server accepts at most \(connections) simultaneous connections.")
            case .single(let reason): note(.undivided, id, "\(reason).")
            case .finished: active[id]?.segments?.conclusion = .whole
            case .fallBack(let reason): active[id]?.segments?.conclusion = .plain(reason: reason)
            case .refused: active[id]?.segments?.concludeRefused()
            case .exhausted(let notBefore):
                let failure =
                    segments.lastFailure ?? TransferFailure(.connectionLost, "No connection received further bytes.")
                active[id]?.segments?.conclusion = .trouble(failure, notBefore: notBefore)
            }
        }
        if begun, active[id]?.record.request.rateLimit != nil { shareRate(id) }
        guard let segments = active[id]?.segments else { return }
        if begun, !segments.isRecorded { await recordSegments(id) }
        if segments.connections.isEmpty, segments.conclusion != nil { return await concludeSegments(id) }
        setLook(id)
    }

    private func begin(
        _ number: ConnectionID, _ source: Int, _ range: Range<Int64>, _ id: TaskID, _ segments: SegmentedDownload
    ) {
        guard let transfer = active[id], let file = segments.sources[0].identity else { return }
        let record = transfer.record
        let request = SegmentRequest(range: range, identity: segments.sources[source].identity)
        let receiver = SegmentReceiver(
            SegmentReceiver.Inputs(
                request: request, file: file, policy: responsePolicy(transfer), descriptor: segments.descriptor,
                ceiling: segments.ceiling, wallSeconds: now.wallSeconds)
        ) { [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.segmentAnswered(id, receiver) }
            case .ended(let end): reporting.yield { await $0.segmentEnded(id, receiver, end) }
            }
        }
        var wire = wireRequest(record)
        active[id]?.shown = addAnswers(to: &wire, record)
        wire.place = transfer.place
        let url = segments.sources[source].url
        wire = wire.moved(to: url)
        wire.headers += request.headers
        let handle = environment.transport.begin(wire, receiver: receiver)
        active[id]?.segments?.connections[number] = SegmentedDownload.Connection(
            source: source, handle: handle, position: receiver.position, end: receiver.end)
    }

    /// Commits that the file may have gaps, and then allows bytes after gaps.
    private func recordSegments(_ id: TaskID) async {
        guard var transfer = active[id], let segments = transfer.segments, !segments.isRecorded else { return }
        if !transfer.wasDivided { note(.divided, id, nil) }
        active[id]?.wasDivided = true
        active[id]?.record.partial?.segments = segments.scheduler.map
        active[id]?.segments?.isRecorded = true
        transfer = active[id] ?? transfer
        active[id]?.entries = []
        guard await save(transfer.record, transfer.entries) else { return interrupt(id, .diskSpace) }
        segments.ceiling.value = .max
        for handle in active[id]?.handles ?? [] { handle.resumeWriting() }
    }

    /// Divides the task's rate limit among its connections.
    func shareRate(_ id: TaskID) {
        guard let transfer = active[id] else { return }
        let rate = transfer.record.request.rateLimit.map { max(1, $0 / Int64(transfer.connectionCount)) }
        for handle in transfer.handles { handle.setRateLimit(rate) }
    }

    private func note(_ decision: Decision, _ id: TaskID, _ detail: String?) {
        active[id]?.entries.append(JournalEntry(time: now.date, decision: decision, task: id, detail: detail))
    }

    private func setLook(_ id: TaskID) {
        guard let transfer = active[id], let segments = transfer.segments else { return }
        let deadline = transfer.stopping == nil && segments.conclusion == nil ? segments.scheduler.nextDeadline : nil
        active[id]?.segments?.look.set(for: deadline, by: environment.clock) { await self.updateSegments(id, $0) }
    }
}

extension DownloadReceiver.Reception {
    /// Returns the offset at which the response's body ends; nil if ranges of the file cannot be requested, or are not
    /// needed.
    fileprivate func servedEnd(method: String, count: Int64) -> Int64? {
        let (representation, end): (Representation, Int64?)
        switch verdict {
        case .fresh(let whole, _): (representation, end) = (whole, whole.total)
        case .append(let part, let offset, let length):
            (representation, end) = (part, length.map { offset + $0 } ?? part.total)
        case .compare(let part, let offset, let length):
            (representation, end) = (part, length.map { offset + $0 } ?? part.total)
        case .alreadyComplete, .askAgain, .startAgain, .retryLater, .fail, .doubt: return nil
        }
        let obstacle = SegmentEligibility.obstacle(
            method: method, head: head, representation: representation, count: count)
        return obstacle == nil ? end : nil
    }
}

extension ActiveTransfer {
    /// Returns the sources of the file. The source that is requested first determines the file.
    fileprivate func sources(_ identity: SourceIdentity) -> [SegmentedDownload.Source] {
        run.round.all.enumerated().map { index, url in
            SegmentedDownload.Source(url: url, identity: index == 0 ? identity : nil)
        }
    }
}
