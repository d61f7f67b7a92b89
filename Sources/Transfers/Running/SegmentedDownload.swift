import Clock
import NightshiftAPI
import Store

/// The state of a running download that may use several connections. Values of this type live in the service's actor.
struct SegmentedDownload: Sendable {
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
    var conclusion: SegmentsConclusion?
    /// The last failure of a connection and its point, used if no connection is left.
    private(set) var lastFailure: TransferFailure?
    private(set) var failurePoint: FailurePoint?
    /// The last answer that the task must handle when no connection receives bytes.
    private(set) var refusal: (conclusion: DownloadConclusion, point: FailurePoint?)?
    /// The alarm for the next reading of positions, in boot seconds.
    var look = Alarm()

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
    var positions: [ConnectionID: Int64] { connections.mapValues(\.position.value) }

    func connection(at position: ByteMeter) -> ConnectionID? {
        connections.first { $0.value.position === position }?.key
    }

    func origin(_ source: Int) -> String { (try? TransferURL(parsing: sources[source].url))?.origin ?? "" }

    mutating func noteFailure(_ failure: TransferFailure, _ point: FailurePoint?) {
        lastFailure = failure
        failurePoint = point
    }

    mutating func noteRefusal(_ conclusion: DownloadConclusion, _ point: FailurePoint?) {
        refusal = (conclusion, point)
    }

    /// Ends the download with the last refusal.
    mutating func concludeRefused() {
        guard let refusal else { return }
        conclusion = .refused(refusal.conclusion)
        failurePoint = refusal.point
    }

    /// Cancels all running connections.
    func cancelAll() {
        for connection in connections.values { connection.handle.cancel() }
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
