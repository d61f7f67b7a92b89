import Clock
import NightshiftAPI
import Store

/// The connections of a running download that may use several of them. Objects of this type live in the service's actor.
final class SegmentedDownload {
    /// The scheduler, which makes all decisions.
    var scheduler: SegmentScheduler
    /// The connections whose end has not been reported yet.
    var connections: [ConnectionID: Connection] = [:]
    var sources: [Source]
    /// The file that all connections write into. The file is closed when the last connection has ended.
    let descriptor: Int32
    /// The offset up to which connections may write after gaps. The value is 0 until the task's row in the store says
    /// that there are gaps.
    let ceiling: ByteMeter
    /// Whether the row contains the segment map.
    var isRecorded: Bool
    /// The next step when the last connection has ended; nil while the download continues.
    private(set) var conclusion: SegmentsConclusion?
    /// The last failure of a connection and its point, used if no connection is left.
    private var lastFailure: TransferFailure?
    private(set) var failurePoint: FailurePoint?
    /// The last answer that the task must handle when no connection receives bytes.
    private var refusal: (conclusion: DownloadConclusion, point: FailurePoint?)?
    /// The alarm for the next reading of positions, in boot seconds.
    var look = Alarm()

    /// Creates the connections of a file.
    ///
    /// - Parameters:
    ///   - urls: the URLs that have the file, beginning with the one that a single connection would use.
    ///   - identity: the file, as the first of these URLs has described it.
    init(
        _ scheduler: SegmentScheduler, urls: [String], _ identity: SourceIdentity, descriptor: Int32, isRecorded: Bool
    ) {
        self.scheduler = scheduler
        sources = urls.enumerated().map { Source(url: $1, identity: $0 == 0 ? identity : nil) }
        self.descriptor = descriptor
        self.isRecorded = isRecorded
        ceiling = ByteMeter(isRecorded ? .max : 0)
    }

    struct Connection: Sendable {
        var source: Int
        var handle: any ExchangeHandle
        /// The position of the connection. As an object, it also distinguishes connections with the same number.
        var position: ByteMeter
        var end: ByteMeter
        /// Whether the service itself ended the connection.
        var isStopped = false
    }

    /// A URL that has the file. The first source is the one that a single connection would use.
    struct Source: Sendable {
        var url: String
        /// The file, as this source has described it.
        var identity: SourceIdentity?
    }
}

extension SegmentedDownload {
    private var positions: [ConnectionID: Int64] { connections.mapValues(\.position.value) }

    func connection(at position: ByteMeter) -> ConnectionID? {
        connections.first { $0.value.position === position }?.key
    }

    func origin(_ source: Int) -> String { (try? TransferURL(parsing: sources[source].url))?.origin ?? "" }

    // MARK: - Inputs

    /// Reads the positions of all connections.
    func progressed(_ now: Double) -> [SegmentAction] { scheduler.progressed(positions, now: now) }

    /// Handles an accepted response, which is also an occasion to check all connections.
    func answered(
        _ number: ConnectionID, by identity: SourceIdentity, _ served: Range<Int64>, _ now: Double
    ) -> [SegmentAction] {
        guard let source = connections[number]?.source else { return [] }
        sources[source].identity = identity
        return scheduler.answered(number, served: served, now: now) + progressed(now)
    }

    /// Handles the end of a connection.
    ///
    /// - Returns: the actions that follow, unless the download ends for another reason.
    func ended(_ number: ConnectionID, _ end: SegmentEnd, _ now: Double) -> [SegmentAction] {
        let actions = progressed(now)
        guard let position = connections.removeValue(forKey: number)?.position.value else { return actions }
        return actions + scheduler.ended(number, position: position, end, now: now)
    }

    /// Stops a connection whose range another connection fetches.
    func stop(_ number: ConnectionID) {
        connections[number]?.isStopped = true
        connections[number]?.handle.cancel()
    }

    /// Moves the end of a connection's range.
    func setEnd(_ end: Int64, of number: ConnectionID) {
        guard let connection = connections[number] else { return }
        connection.end.value = end
        // Otherwise the connection would end only when its next byte arrives.
        if connection.position.value >= end { connection.handle.cancel() }
    }

    /// Stores the first conclusion about the whole download. The scheduler's actions then no longer count.
    func conclude(_ action: SegmentAction) {
        switch action {
        case .finished: conclusion = .whole
        case .fallBack(let reason): conclusion = .plain(reason: reason)
        case .refused:
            guard let refusal else { return }
            conclusion = .refused(refusal.conclusion)
            failurePoint = refusal.point
        case .exhausted(let notBefore):
            let failure = lastFailure ?? TransferFailure(.connectionLost, "No connection received further bytes.")
            conclusion = .trouble(failure, notBefore: notBefore)
        case .begin, .setEnd, .stop, .dropSource, .limitHost, .single: break
        }
    }

    // MARK: - Ends of connections

    /// Returns the end of a connection in the scheduler's terms, and notes its failure.
    ///
    /// - Parameters:
    ///   - answer: the response on the connection; nil if it is the one that the download began with.
    ///   - isOfAnotherURL: whether the first source must confirm the version of the bytes on disk.
    func end(
        of connection: Connection, _ answer: SegmentAnswer?, _ end: ExchangeEnd, isOfAnotherURL: Bool,
        _ now: ClockReading
    ) -> SegmentEnd {
        switch answer {
        case nil, .serves?: return bodyEnd(of: connection, end)
        case .again? where connection.source == 0 && isOfAnotherURL:
            return .distrusted(RetargetedBytes.unknownVersion)
        case .again(let condition)?:
            sources[connection.source].identity?.condition = condition
            return .again
        case .busy(let after, let failure)?:
            note(failure, end)
            return .busy(until: after.map { now.bootSeconds + RetrySchedule.retryAfter($0, now: now.wallSeconds) })
        case .trouble(let failure)?:
            note(failure, end)
            return .failed
        case .distrusted(let reason)?: return .distrusted(reason)
        case .refused(let conclusion, let reason)?:
            refusal = (conclusion, end.placeOfFailure)
            return .refused(reason)
        }
    }

    private func bodyEnd(of connection: Connection, _ end: ExchangeEnd) -> SegmentEnd {
        if case .failed(let failure) = end.outcome {
            note(failure, end)
            // A disk error affects all connections.
            if failure.endsAllConnections {
                conclusion = conclusion ?? .trouble(failure, notBefore: nil)
                for connection in connections.values { connection.handle.cancel() }
            }
        }
        if connection.position.value >= connection.end.value || end.outcome == .complete { return .complete }
        return connection.isStopped || end.outcome == .cancelled ? .stopped : .failed
    }

    private func note(_ failure: TransferFailure, _ end: ExchangeEnd) {
        lastFailure = failure
        failurePoint = end.placeOfFailure
    }
}

extension PartialFile {
    /// Records that the server at the new URL confirms the version of the bytes on disk.
    mutating func belong(to identity: SourceIdentity, of mirror: String?) {
        isOfAnotherURL = nil
        self.mirror = mirror
        place = identity.place
        lastModified = identity.validators.lastModified
        date = identity.validators.date
    }

    /// Returns the file as the task's own URL described it; nil if ranges of the file cannot be requested.
    ///
    /// - Parameter checksum: the checksum that the task asks for.
    func sourceIdentity(checksum: Checksum?) -> SourceIdentity? {
        var known = bytes(count: 0, checksum: checksum)
        if known.isOfAnotherURL {
            // A part says nothing about the bytes before it. Only the same strong tag proves that the part and those
            // bytes belong together. The part must also come from the same resource, unless a digest will verify the
            // whole file.
            guard known.condition == .entityTag, let tag = known.validators.strongEntityTag else { return nil }
            known.validators = Validators(entityTag: tag)
        }
        guard let total, known.condition != .unusable, known.validators.identifyBytes else { return nil }
        var identity = SourceIdentity(total: total, validators: known.validators, condition: known.condition)
        identity.place = place
        identity.isOfAnotherURL = known.isOfAnotherURL
        identity.mediaType = mediaType
        identity.doubt = doubt
        identity.digests = DigestFields.merged(digests, checksum.map { [$0] } ?? [])
        return identity
    }
}
