import Clock
import NightshiftAPI
import Store

/// A download that several connections may fetch, as it runs. Lives in the service's actor.
struct SegmentedDownload: Sendable {
    /// Decides; this only carries out.
    var scheduler: SegmentScheduler
    /// Those whose end was not reported yet.
    var connections: [ConnectionID: Connection] = [:]
    var sources: [Source]
    /// The file that all connections write into; closed when the last of them has ended.
    let descriptor: Int32
    /// What connections behind gaps may write: nothing until the row says that there are gaps.
    let ceiling: ByteMeter
    /// Whether the row tells of the map.
    var isRecorded: Bool
    /// What follows when the last connection has ended; nil while it goes on.
    var conclusion: SegmentsConclusion?
    /// The last trouble of a connection and where it was, for the case that none is left.
    private(set) var lastFailure: TransferFailure?
    private(set) var failurePoint: FailurePoint?
    /// The last answer that is the task's to deal with, once nobody brings anything any more.
    private(set) var refusal: (conclusion: DownloadConclusion, point: FailurePoint?)?
    /// Rings at the boot seconds at which positions are read next.
    var look = Alarm()

    struct Connection: Sendable {
        var source: Int
        var handle: any ExchangeHandle
        /// Also what tells a connection from others of the same number.
        var position: ByteMeter
        var end: ByteMeter
        /// Whether it was broken off from here.
        var isStopped = false
    }

    /// A place where the file is to be had; the first is the one that the download asks, or would ask, alone.
    struct Source: Sendable {
        var url: String
        /// The file as it has shown it.
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

    /// The last refusal is what the download comes to.
    mutating func concludeRefused() {
        guard let refusal else { return }
        conclusion = .refused(refusal.conclusion)
        failurePoint = refusal.point
    }

    /// Breaks off what still runs.
    func cancelAll() {
        for connection in connections.values { connection.handle.cancel() }
    }
}

extension PartialFile {
    /// The new URL's server knows the version of the bytes here.
    mutating func belong(to identity: SourceIdentity, of mirror: String?) {
        isOfAnotherURL = nil
        self.mirror = mirror
        place = identity.place
        lastModified = identity.validators.lastModified
        date = identity.validators.date
    }

    /// The file as its own URL has shown it; nil where parts of it cannot be asked for.
    ///
    /// - Parameter checksum: what was asked for.
    func sourceIdentity(checksum: Checksum?) -> SourceIdentity? {
        var known = bytes(count: 0, checksum: checksum)
        if known.isOfAnotherURL {
            // Parts say nothing of the bytes before them: only the same strong tag, and from the same place unless a digest finds
            // out in the end, proves that they belong together.
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
