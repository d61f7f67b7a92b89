import Clock
import Glibc
import NightshiftAPI
import Scheduler
import Store

/// Handling of the answers and the ends of a download's connections.
extension TransferService {
    /// Handles an accepted response on one connection.
    func segmentAnswered(_ id: TaskID, _ receiver: SegmentReceiver) async {
        guard let segments = active[id]?.segments, let number = segments.connection(at: receiver.position) else {
            return
        }
        await execute(answered(id, number, receiver), id)
    }

    private func answered(
        _ id: TaskID, _ number: ConnectionID, _ receiver: SegmentReceiver
    ) -> [SegmentAction] {
        guard let reception = receiver.reception, case .serves(let served, let identity) = reception.answer,
            let transfer = active[id], let segments = transfer.segments,
            let source = segments.connections[number]?.source
        else { return [] }
        active[id]?.segments?.sources[source].identity = identity
        takeDigests(id, of: reception.head)
        if source == 0 { active[id]?.record.partial?.doubt = nil }
        if source == 0, transfer.record.partial?.isOfAnotherURL == true {
            active[id]?.record.partial?.belong(to: identity, of: transfer.round.mirror)
        }
        acceptSegment(id, reception.head, url: segments.sources[source].url)
        let now = now.bootSeconds
        // The answer is also an occasion to check all connections.
        let actions = active[id]?.segments?.scheduler.answered(number, served: served, now: now) ?? []
        return actions + (active[id]?.segments?.scheduler.progressed(segments.positions, now: now) ?? [])
    }

    /// Stores the digests of the whole file that a source announces. They are verified at the end, even if the bytes
    /// came from other sources.
    private func takeDigests(_ id: TaskID, of head: ResponseHead) {
        guard let known = active[id]?.record.partial?.digests else { return }
        active[id]?.record.partial?.digests = DigestFields.merged(
            known, DigestFields.expected(head: head, wholeBody: false))
    }

    /// Handles the first response to a download that continues with gaps.
    private func acceptSegment(_ id: TaskID, _ head: ResponseHead, url: String) {
        guard var transfer = active[id], !transfer.isAccepted, let partial = transfer.record.partial else { return }
        let missing = (partial.total ?? 0) - transfer.startCount
        let accepted = AcceptedResponse(
            response: ResponseSummary(head), url: transfer.record.currentURL ?? transfer.record.request.url ?? head.url,
            partial: partial, isLarge: missing >= Admission.largeSize, offset: transfer.startCount, restart: nil)
        transfer.run.accept(accepted, now)
        active[id] = transfer
        sourceAnswered(transfer, isOwn: url == transfer.record.request.url)
    }

    func segmentEnded(_ id: TaskID, _ receiver: SegmentReceiver, _ end: ExchangeEnd) async {
        guard let number = active[id]?.segments?.connection(at: receiver.position) else {
            return await leftEnded(receiver.position)
        }
        // Reports may arrive out of order.
        let actions = answered(id, number, receiver)
        if active[id]?.stopping == nil { await execute(actions, id) }
        guard let segments = active[id]?.segments, let connection = segments.connections[number] else { return }
        let now = now
        switch receiver.reception?.answer ?? SegmentAnswer(unanswered: end.outcome) {
        case nil, .serves?: await bodyEnded(id, number, connection, end)
        case .again? where connection.source == 0 && active[id]?.record.partial?.isOfAnotherURL == true:
            await ended(id, number, .distrusted(RetargetedBytes.unknownVersion))
        case .again(let condition)?:
            active[id]?.segments?.sources[connection.source].identity?.condition = condition
            await ended(id, number, .again)
        case .busy(let after, let failure)?:
            active[id]?.segments?.noteFailure(failure, end.placeOfFailure)
            let until = after.map { now.bootSeconds + RetrySchedule.retryAfter($0, now: now.wallSeconds) }
            await ended(id, number, .busy(until: until))
        case .trouble(let failure)?:
            active[id]?.segments?.noteFailure(failure, end.placeOfFailure)
            await ended(id, number, .failed)
        case .distrusted(let reason)?: await ended(id, number, .distrusted(reason))
        case .refused(let conclusion, let reason)?:
            active[id]?.segments?.noteRefusal(conclusion, end.placeOfFailure)
            await ended(id, number, .refused(reason))
        }
    }

    /// Handles the end of the connection that the download began with.
    func firstSegmentEnded(_ id: TaskID, _ receiver: DownloadReceiver, _ end: ExchangeEnd) async {
        guard let segments = active[id]?.segments, let number = segments.connection(at: receiver.position),
            let connection = segments.connections[number]
        else { return }
        await bodyEnded(id, number, connection, end)
    }

    private func bodyEnded(
        _ id: TaskID, _ number: ConnectionID, _ connection: SegmentedDownload.Connection,
        _ end: ExchangeEnd
    ) async {
        let outcome = end.outcome
        if case .failed(let failure) = outcome {
            active[id]?.segments?.noteFailure(failure, end.placeOfFailure)
            // A disk error affects all connections.
            if failure.endsAllConnections {
                if active[id]?.segments?.conclusion == nil {
                    active[id]?.segments?.conclusion = .trouble(failure, notBefore: nil)
                }
                active[id]?.segments?.cancelAll()
            }
        }
        if connection.position.value >= connection.end.value || outcome == .complete {
            await ended(id, number, .complete)
        } else if connection.isStopped || outcome == .cancelled {
            await ended(id, number, .stopped)
        } else {
            await ended(id, number, .failed)
        }
    }

    /// Handles the end of a connection. The scheduler decides the next step, unless another decision was already made.
    private func ended(_ id: TaskID, _ number: ConnectionID, _ end: SegmentEnd) async {
        guard let transfer = active[id], let segments = transfer.segments,
            let position = segments.connections[number]?.position.value
        else { return }
        let now = now.bootSeconds
        let isOver = transfer.stopping != nil || segments.conclusion != nil
        var actions = active[id]?.segments?.scheduler.progressed(segments.positions, now: now) ?? []
        active[id]?.segments?.connections[number] = nil
        actions += active[id]?.segments?.scheduler.ended(number, position: position, end, now: now) ?? []
        if !isOver { return await execute(actions, id) }
        if active[id]?.segments?.connections.isEmpty == true { await concludeSegments(id) }
    }

    /// Handles the end of the last connection.
    func concludeSegments(_ id: TaskID) async {
        guard var transfer = active[id], let segments = transfer.segments else { return }
        segments.look.cancel()
        let map = segments.scheduler.map
        transfer.exchange = .starting
        transfer.record.received = map.count
        transfer.record.partial?.synced = map.synced.prefix
        if segments.isRecorded { transfer.record.partial?.segments = map }
        active[id] = transfer
        await tell(id, file: segments.descriptor, at: transfer.place) {
            $0.segmentsEnded(segments.conclusion, map, at: segments.failurePoint, $1, &$2)
        }
    }
}
