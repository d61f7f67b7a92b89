package import NightshiftAPI
package import Scheduler
package import Store

/// Inputs about a download's bytes on disk before a request, its connections, and changes of the task meanwhile.
extension TransferRun {
    // MARK: - Before a request

    /// The next step for a file with gaps.
    package enum GapStep: Hashable, Sendable {
        /// Several connections may fill the gaps. The bytes must belong to this file.
        case fill(SourceIdentity)
        /// The file is truncated to its contiguous beginning, and a single connection continues.
        case cut
        /// No request is sent, because it could continue only by discarding bytes.
        case refuse(TransferFailure)
    }

    /// Returns the next step for a file with gaps.
    package func step(for map: SegmentMap) -> GapStep {
        let identity = record.partial?.sourceIdentity(checksum: record.request.checksum)
        guard identity != nil || mayRestart else { return .refuse(.keepsBytes(because: RetargetedBytes.unproven)) }
        guard let identity, !map.isContiguous, singleReason == nil else { return .cut }
        return .fill(identity)
    }

    /// Records that the file was truncated to its contiguous beginning before the request.
    package mutating func gapsCut(_ map: SegmentMap, bootID: String) {
        record.partial?.bootID = bootID
        keepContiguousBytes(of: map)
    }

    /// Prepares requests that fill the gaps of the file.
    package mutating func gapsRequested(_ map: SegmentMap, _ now: ClockReading) {
        record.partial?.bootID = now.bootID
        record.partial?.segments = map
        record.partial?.synced = map.synced.prefix
        wasDivided = true
        requested(after: map.count, now)
    }

    /// Prepares the next request of a download.
    ///
    /// - Parameter count: the number of bytes on disk that the request continues after.
    package mutating func requested(after count: Int64, _ now: ClockReading) {
        startCount = count
        isAccepted = false
        begunAt = now.bootSeconds
        answeredAt = nil
        record.received = count
        record.noteStart()
    }

    /// Returns the settings for judging responses to the requests of a download.
    package func responsePolicy(isBehindPortal: Bool) -> ResponsePolicy {
        let request = record.request
        var policy = ResponsePolicy(
            retry: request.retryPolicy ?? .never,
            // An error response is not saved as the file while another URL may have the file.
            failsOnHTTPError: request.failsOnHTTPError ?? false || !round.isLast, mayRestart: mayRestart)
        policy.isBehindPortal = isBehindPortal
        policy.expectedName = record.expectedName
        policy.firstDoubt = record.firstDoubt
        policy.asksOwnURL = round.isOwn
        policy.asksConditionally = request.asksConditionally
        policy.hasOwnMethod = record.method != "GET" || request.body?.isEmpty == false
        policy.hasLogin = request.hasLogin
        policy.decodes = record.decodes
        return policy
    }

    /// Prepares the first request of an upload.
    ///
    /// - Parameter offset: the number of bytes that the server already has.
    package mutating func uploadRequested(from offset: Int64) {
        startCount = offset
        record.noteStart()
    }

    /// Records the destination folder, whose identity must stay the same from now on.
    package mutating func folderFound(_ folder: FolderIdentity?) { record.folder = folder }

    /// Stops using the bytes on disk, because they are not the bytes that were written.
    package mutating func bytesLost(because reason: String, _ now: ClockReading) {
        guard let partial = record.partial else { return }
        let had = max(record.received, partial.synced)
        record.partial = nil
        record.received = 0
        guard had > 0 else { return }
        record.noteRestart()
        note(.restarted, reason, now)
    }

    /// Describes the file after it was truncated to its contiguous beginning.
    mutating func keepContiguousBytes(of map: SegmentMap) {
        record.partial?.segments = nil
        record.partial?.synced = map.synced.prefix
        record.partial?.length = map.prefix
    }

    // MARK: - During an exchange

    /// Records the accepted response of a download, and commits it.
    ///
    /// - Parameter isBrief: whether the download is about to end, so that one commit at its end is enough.
    package mutating func answered(
        _ accepted: AcceptedResponse, isBrief: Bool, _ now: ClockReading
    ) -> [TransferAction] {
        answeredAt = now.bootSeconds
        accept(accepted, now)
        return isBrief ? [] : note()
    }

    /// Records the bytes that are on disk after the end of an exchange.
    ///
    /// - Parameter length: the length of the file. After a refused response, the file also has the bytes of an earlier
    ///   response.
    package mutating func bytesCounted(_ count: Int64, length: Int64) {
        record.received = count
        if record.partial?.segments == nil { record.partial?.length = length }
    }

    /// Commits that bytes may follow gaps, before the first such byte is written.
    package mutating func divided(_ map: SegmentMap, _ now: ClockReading) -> [TransferAction] {
        if !wasDivided { note(.divided, nil, now) }
        wasDivided = true
        record.partial?.segments = map
        return note()
    }

    /// Records a response on one of several connections.
    ///
    /// - Parameters:
    ///   - identity: the file that the response describes.
    ///   - isFirst: whether the response comes from the source that a single connection would use.
    package mutating func segmentAnswered(
        _ head: ResponseHead, _ identity: SourceIdentity, isFirst: Bool, _ now: ClockReading
    ) {
        // Digests of the whole file are verified at the end, even if the bytes came from other sources.
        if let known = record.partial?.digests {
            record.partial?.digests = DigestFields.merged(known, DigestFields.expected(head: head, wholeBody: false))
        }
        if isFirst {
            record.partial?.doubt = nil
            let mirror = round.mirror
            if record.partial?.isOfAnotherURL == true { record.partial?.belong(to: identity, of: mirror) }
        }
        guard !isAccepted, let partial = record.partial else { return }
        let missing = (partial.total ?? 0) - startCount
        accept(
            AcceptedResponse(
                response: ResponseSummary(head), url: record.currentURL ?? record.request.url ?? head.url,
                partial: partial, isLarge: missing >= Admission.largeSize, offset: startCount, restart: nil), now)
    }

    /// Adds a decision about the connections to the next commit.
    package mutating func note(_ decision: Decision, _ detail: String?, _ now: ClockReading) {
        entries.append(JournalEntry(time: now.date, decision: decision, task: record.id, detail: detail))
    }

    // MARK: - Changes of the row by others

    /// Adopts the owner's change of the task, which is already in its row.
    package mutating func ownerChanged(_ row: TaskRecord) {
        changeRecords {
            $0.priority = row.priority
            $0.request.rateLimit = row.request.rateLimit
            $0.request.description = row.request.description
            $0.clientData = row.clientData
        }
    }

    /// Adopts the relaxed requirements of the task, which are already in its row.
    package mutating func relaxed(_ discretion: Discretion) { changeRecords { $0.discretion = discretion } }

    /// Ends the discretionary wait of the task, because its app came to the foreground.
    package mutating func discretionLifted() { changeRecords { $0.liftDiscretion() } }

    /// Changes the record, and the record that a failed commit restores.
    private mutating func changeRecords(_ change: (inout TaskRecord) -> Void) {
        change(&record)
        guard var before = recordBeforeEnd else { return }
        change(&before)
        recordBeforeEnd = before
    }
}
