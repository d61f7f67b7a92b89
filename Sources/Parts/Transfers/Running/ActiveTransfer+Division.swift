import NightshiftAPI
import Store

/// The division of a download whose first response is arriving.
extension ActiveTransfer {
    private var dividable: (receiver: DownloadReceiver, handle: any ExchangeHandle)? {
        // If the exchange has ended meanwhile, its file is already closed.
        guard run.phase == .exchanging, run.stopping == nil, run.isAccepted, run.singleReason == nil,
            case .download(let receiver, let handle) = exchange, receiver.ceiling.value == .max,
            (record.partial?.total ?? 0) - receiver.position.value >= SegmentEligibility.leastMissing
        else { return nil }
        return (receiver, handle)
    }

    /// Whether more connections may be worthwhile. Whenever a transfer ends, this is asked of every other transfer, so
    /// it excludes small files first.
    var canBeDivided: Bool { dividable != nil }

    /// Returns the connections of the download, and the scheduler's first actions; nil if the download needs or allows
    /// only one connection.
    ///
    /// - Returns: also the open file that the response has replaced, if there is one.
    func divided(
        _ limits: SegmentLimits, now: Double
    ) -> (segments: SegmentedDownload, actions: [SegmentAction], replaced: Int32?)? {
        let urls = run.round.all
        guard let (receiver, handle) = dividable, let partial = record.partial,
            let reception = receiver.reception, let descriptor = reception.descriptor,
            let identity = partial.sourceIdentity(checksum: record.request.checksum),
            let servedEnd = reception.servedEnd(method: record.method, count: receiver.position.value),
            limits.inAll(sources: urls.count) > 1
        else { return nil }
        let position = receiver.position.value
        let map = SegmentMap(total: identity.total, count: position, synced: partial.synced)
        let segments = SegmentedDownload(
            SegmentScheduler(map: map, limits: limits, sources: urls.count, now: now), urls: urls, identity,
            descriptor: descriptor, isRecorded: false)
        segments.connections[ConnectionID(0)] = SegmentedDownload.Connection(
            source: 0, handle: handle, position: receiver.position, end: receiver.end)
        let actions = segments.scheduler.adopt(
            position: position, servedEnd: servedEnd, begunAt: run.begunAt, answeredAt: run.answeredAt ?? now,
            now: now)
        return (segments, actions, receiver.openDescriptor.flatMap { $0 == descriptor ? nil : $0 })
    }
}

extension DownloadReceiver.Reception {
    /// Returns the offset at which the response's body ends; nil if ranges of the file cannot be requested, or are not
    /// needed.
    fileprivate func servedEnd(method: String, count: Int64) -> Int64? {
        let (representation, end): (Representation, Int64?)
        switch verdict {
        case .fresh(let whole, _): (representation, end) = (whole, whole.total)
        case .append(let part, let offset, let length), .compare(let part, let offset, let length):
            (representation, end) = (part, length.map { offset + $0 } ?? part.total)
        case .alreadyComplete, .askAgain, .startAgain, .retryLater, .fail, .doubt: return nil
        }
        let obstacle = SegmentEligibility.obstacle(
            method: method, head: head, representation: representation, count: count)
        return obstacle == nil ? end : nil
    }
}
