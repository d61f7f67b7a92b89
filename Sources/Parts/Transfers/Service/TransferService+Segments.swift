import Clock
import Glibc
import Mounts
import NightshiftAPI
import Scheduler
import Store

/// Downloads over several connections: from the first response that can be split to the end of the last connection. This
/// code executes the scheduler's actions.
extension TransferService {
    // MARK: - Beginning

    /// Adds connections to a download whose first response is arriving, if that is allowed and worthwhile.
    func divide(_ id: TaskID) async {
        guard let transfer = active[id], transfer.canBeDivided else { return }
        let now = now.bootSeconds
        guard let division = transfer.divided(segmentLimits(transfer), now: now) else { return }
        files.close(division.replaced, at: transfer.place)
        transfer.exchange = .segments(division.segments)
        await execute(division.actions, id)
    }

    /// Fills the gaps of a file over several connections.
    func divide(_ transfer: ActiveTransfer, _ map: SegmentMap, _ identity: SourceIdentity, _ file: Int32) async {
        transfer.run.gapsRequested(map, now)
        let urls = transfer.run.round.all
        let segments = SegmentedDownload(
            SegmentScheduler(
                map: map, limits: segmentLimits(transfer), sources: urls.count, now: now.bootSeconds), urls: urls,
            identity, descriptor: file, isRecorded: true)
        let actions = segments.scheduler.start(now: now.bootSeconds)
        exchangeBegan(transfer, .segments(segments))
        await execute(actions, transfer.record.id)
    }

    // MARK: - Allowed connections

    /// Returns the number of connections that a download may use now: the limit of its session for this host, minus the
    /// connections that other transfers use there.
    private func segmentLimits(_ transfer: ActiveTransfer) -> SegmentLimits {
        let record = transfer.record
        let others = placeHolders.filter { $0.record.lane == record.lane && $0.record.id != record.id }
        let used = others.reduce(claims.reserved[record.lane] ?? 0) { $0 + $1.connectionCount }
        let time = now.bootSeconds
        return SegmentLimits(
            record, used: used, host: hosts.mostConnections(record.origin, now: time),
            useful: hosts.usefulConnections(record.origin, now: time))
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
        for id in active.keys.sorted() {
            guard let transfer = active[id], transfer.record.kind == .download else { continue }
            guard let segments = transfer.segments, segments.conclusion == nil, transfer.run.stopping == nil else {
                await divide(id)
                continue
            }
            let limits = segmentLimits(transfer)
            guard limits != segments.scheduler.limits else { continue }
            await execute(segments.scheduler.change(limits, now: now.bootSeconds), id)
        }
    }

    /// Divides the task's rate limit among its connections.
    func shareRate(_ transfer: ActiveTransfer) {
        let rate = transfer.record.request.rateLimit.map { max(1, $0 / Int64(transfer.connectionCount)) }
        for handle in transfer.handles { handle.setRateLimit(rate) }
    }

    /// Lets a running transfer yield to other traffic, or not, as the rules say now.
    func updateYield(_ transfer: ActiveTransfer) {
        let meter = bounds.yields(transfer.record) ? transfer.yieldMeter : nil
        for handle in transfer.handles { handle.setYields(meter) }
    }

    // MARK: - Executing actions

    /// Reads the positions of the connections when the scheduler's deadline has come.
    private func updateSegments(_ id: TaskID, _ bootSeconds: Double) async {
        guard let transfer = active[id], let segments = transfer.segments, segments.look.moment == bootSeconds,
            segments.conclusion == nil, transfer.run.stopping == nil
        else { return }
        segments.look.rang(bootSeconds)
        let now = now.bootSeconds
        await execute(
            segments.scheduler.change(segmentLimits(transfer), now: now) + segments.progressed(now), id)
    }

    /// Executes the scheduler's actions in their order.
    func execute(_ actions: [SegmentAction], _ id: TaskID) async {
        guard let transfer = active[id], let segments = transfer.segments else { return }
        var begun = false
        for action in actions {
            switch action {
            case .begin(let number, let source, let range):
                // If a connection began after all others were ended, nothing would end that connection.
                guard transfer.run.stopping == nil, segments.conclusion == nil else { continue }
                begin(number, source, range, transfer, segments)
                begun = true
            case .setEnd(let number, let end): segments.setEnd(end, of: number)
            case .stop(let number, _): segments.stop(number)
            case .dropSource(let source, let reason):
                // The path and query are omitted, because they may contain secrets.
                transfer.run.note(.mirrorDropped, "\(segments.origin(source)): \(reason).", now)
            case .limitHost(let source, let connections, let until):
                hosts.limit(segments.origin(source), to: connections, until: until, now: now.bootSeconds)
                let detail = "The server accepts at most \(connections) simultaneous connections."
                transfer.run.note(.undivided, detail, now)
            case .single(let reason): transfer.run.note(.undivided, "\(reason).", now)
            case .finished, .fallBack, .refused, .exhausted: segments.conclude(action)
            }
        }
        if begun, transfer.record.request.rateLimit != nil { shareRate(transfer) }
        if begun, !segments.isRecorded { await recordSegments(transfer, segments) }
        guard active[id]?.segments === segments else { return }
        if segments.connections.isEmpty, segments.conclusion != nil { return await concludeSegments(id) }
        let deadline =
            transfer.run.stopping == nil && segments.conclusion == nil ? segments.scheduler.nextDeadline : nil
        segments.look.set(for: deadline, by: environment.clock) { await self.updateSegments(id, $0) }
    }

    private func begin(
        _ number: ConnectionID, _ source: Int, _ range: Range<Int64>, _ transfer: ActiveTransfer,
        _ segments: SegmentedDownload
    ) {
        guard let file = segments.sources[0].identity else { return }
        let id = transfer.record.id
        let request = SegmentRequest(range: range, identity: segments.sources[source].identity)
        let receiver = SegmentReceiver(
            SegmentReceiver.Inputs(
                request: request, file: file,
                policy: transfer.run.responsePolicy(isBehindPortal: bounds.isBehindPortal(transfer.record)),
                descriptor: segments.descriptor, ceiling: segments.ceiling, wallSeconds: now.wallSeconds)
        ) { [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.segmentAnswered(id, receiver) }
            case .ended(let end): reporting.yield { await $0.segmentEnded(id, receiver, end) }
            }
        }
        var wire = wireRequest(transfer).moved(to: segments.sources[source].url)
        wire.headers += request.headers
        let handle = environment.transport.begin(wire, receiver: receiver)
        segments.connections[number] = SegmentedDownload.Connection(
            source: source, handle: handle, position: receiver.position, end: receiver.end)
    }

    /// Commits that the file may have gaps, and then allows bytes after gaps.
    private func recordSegments(_ transfer: ActiveTransfer, _ segments: SegmentedDownload) async {
        segments.isRecorded = true
        let now = now
        guard await committed(transfer.record.id, { run, _, _ in run.divided(segments.scheduler.map, now) }) else {
            return
        }
        segments.ceiling.value = .max
        for connection in segments.connections.values { connection.handle.resumeWriting() }
    }

    // MARK: - Ends

    /// Handles an accepted response on one connection.
    private func segmentAnswered(_ id: TaskID, _ receiver: SegmentReceiver) async {
        await execute(answered(id, receiver), id)
    }

    private func answered(_ id: TaskID, _ receiver: SegmentReceiver) -> [SegmentAction] {
        guard let reception = receiver.reception, case .serves(let served, let identity) = reception.answer,
            let transfer = active[id], let segments = transfer.segments,
            let number = segments.connection(at: receiver.position), let source = segments.connections[number]?.source
        else { return [] }
        let wasAccepted = transfer.run.isAccepted
        transfer.run.segmentAnswered(reception.head, identity, isFirst: source == 0, now)
        if transfer.run.isAccepted, !wasAccepted {
            sourceAnswered(transfer, isOwn: segments.sources[source].url == transfer.record.request.url)
        }
        return segments.answered(number, by: identity, served, now.bootSeconds)
    }

    private func segmentEnded(_ id: TaskID, _ receiver: SegmentReceiver, _ end: ExchangeEnd) async {
        guard let transfer = active[id], transfer.segments?.connection(at: receiver.position) != nil else {
            return await leftEnded(receiver.position)
        }
        // Reports may arrive out of order.
        let actions = answered(id, receiver)
        if transfer.run.stopping == nil { await execute(actions, id) }
        let answer = receiver.reception?.answer ?? SegmentAnswer(unanswered: end.outcome)
        await connectionEnded(id, receiver.position, answer, end)
    }

    /// Handles the end of a connection. The scheduler decides the next step, unless another decision was already made.
    ///
    /// - Parameter answer: the response on the connection; nil if it is the one that the download began with.
    func connectionEnded(_ id: TaskID, _ position: ByteMeter, _ answer: SegmentAnswer?, _ end: ExchangeEnd) async {
        guard let transfer = active[id], let segments = transfer.segments,
            let number = segments.connection(at: position), let connection = segments.connections[number]
        else { return }
        let isOfAnotherURL = transfer.record.partial?.isOfAnotherURL == true
        let result = segments.end(of: connection, answer, end, isOfAnotherURL: isOfAnotherURL, now)
        let isOver = transfer.run.stopping != nil || segments.conclusion != nil
        let actions = segments.ended(number, result, now.bootSeconds)
        if !isOver { return await execute(actions, id) }
        if segments.connections.isEmpty { await concludeSegments(id) }
    }

    /// Handles the end of the last connection.
    private func concludeSegments(_ id: TaskID) async {
        guard let transfer = active[id], let segments = transfer.segments else { return }
        segments.look.cancel()
        if segments.sources.count == 1, let useful = segments.scheduler.usefulConnections {
            hosts.found(useful: useful, for: transfer.record.origin, now: now.bootSeconds)
        }
        transfer.exchange = .starting
        await send(id, file: segments.descriptor, at: transfer.place) {
            $0.segmentsEnded(
                segments.conclusion, segments.scheduler.map, isRecorded: segments.isRecorded,
                at: segments.failurePoint, $1, &$2)
        }
    }
}
