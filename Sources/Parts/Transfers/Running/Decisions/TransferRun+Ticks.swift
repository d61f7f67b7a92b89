package import NightshiftAPI
import Scheduler
package import Store

/// Decisions during an exchange.
extension TransferRun {
    /// Returns whether the bytes have to be synced and committed now.
    ///
    /// - Parameter new: the bytes that have arrived since the last time.
    package func isCheckpointDue(new: Int64, now: Double) -> Bool {
        phase == .exchanging && new > 0
            && (new >= Self.checkpointBytes || now - checkpointAt >= Self.checkpointSeconds)
    }

    /// Commits a checkpoint, or ends the exchange if the bytes could not be synced.
    ///
    /// - Parameters:
    ///   - received: the number of bytes that have arrived.
    ///   - synced: the contiguous bytes from the start that are on disk.
    ///   - map: the map of the bytes, if the row says that some may follow gaps.
    package mutating func checkpointed(
        _ isSynced: Bool, received: Int64, synced: Int64, map: SegmentMap? = nil, _ now: ClockReading
    ) -> [TransferAction] {
        // The exchange may have ended meanwhile, and its end has committed more.
        guard phase == .exchanging else { return [] }
        guard isSynced else {
            record.partial?.distrustUnsynced()
            return interrupt(.wait(.retry))
        }
        checkpointAt = now.bootSeconds
        record.received = received
        if let map { record.partial?.segments = map }
        let told = apply(.checkpoint(synced: synced), now)
        return note(told)
    }

    /// Commits the start of the transfer, unless the transfer is so short that one commit at its end is enough.
    package mutating func beginningNoted(_ now: ClockReading) -> [TransferAction] {
        guard let due = noteDue, now.bootSeconds >= due else { return [] }
        return note()
    }

    /// The boot second at which the start is committed; nil if the start is already committed, or will be committed at
    /// the end.
    package var noteDue: Double? {
        phase == .exchanging && !entries.isEmpty ? max(startedAt, answeredAt ?? 0) + Self.briefSeconds : nil
    }

    /// Applies a new device state. If the device state blocks the task, the exchange is interrupted, and its bytes are
    /// kept.
    ///
    /// - Parameter awaitsResponse: whether no byte can move before the server has answered.
    package mutating func momentChanged(_ moment: DeviceState, awaitsResponse: Bool) -> [TransferAction] {
        guard !isEnding,
            let interruption = Interruption(moment, record.needs, awaitsResponse: awaitsResponse)
        else { return [] }
        return interrupt(interruption)
    }

    /// Begins the check of a connection that may be dead. The connection has a short time to move a byte.
    ///
    /// - Parameters:
    ///   - count: the number of bytes that have arrived.
    ///   - awake: seconds of the awake clock.
    package mutating func doubtConnection(count: Int64, awaitsResponse: Bool, awake: Double) {
        guard !isEnding, !record.needs.isLoopback, !awaitsResponse else { return }
        connectionCheck = ConnectionCheck(count: count, until: awake + ConnectionCheck.length)
    }

    /// Continues the check of a connection. If the connection has moved no byte in its time, it is cancelled.
    ///
    /// - Parameters:
    ///   - count: the number of bytes that have arrived.
    ///   - awaitsResponse: whether no byte can move before the server has answered.
    ///   - awake: seconds of the awake clock.
    package mutating func probationTick(count: Int64, awaitsResponse: Bool, awake: Double) -> [TransferAction] {
        guard let doubted = connectionCheck else { return [] }
        if count != doubted.count || awaitsResponse {
            connectionCheck = nil
            return []
        }
        guard awake >= doubted.until else { return [] }
        connectionCheck = nil
        return isEnding ? [] : interrupt(.reconnect)
    }

    // MARK: - Uploads

    /// Commits the location at which the server stores the upload, while the upload is sent.
    package mutating func uploadKept(_ resource: UploadResource, _ now: ClockReading) -> [TransferAction] {
        guard phase == .exchanging else { return [] }
        checkpointAt = now.bootSeconds
        let told = apply(.keep(resource), now)
        return note(told)
    }

    /// Commits the progress of an upload from time to time. After a crash, a server that has lost bytes can thus be
    /// detected.
    ///
    /// - Parameter sent: the bytes that are known to have been sent.
    package mutating func uploadCheckpoint(
        _ resource: UploadResource, sent: Int64, _ now: ClockReading
    ) -> [TransferAction] {
        guard phase == .exchanging, let known = record.upload, resource != known,
            now.bootSeconds - checkpointAt >= Self.checkpointSeconds
        else { return [] }
        let told = apply(.keep(resource), now)
        record.sent = sent
        checkpointAt = now.bootSeconds
        return note(told)
    }

    /// Records the bytes that the server has after the end of an upload request.
    ///
    /// - Parameters:
    ///   - restart: the reason why earlier bytes are lost.
    ///   - sent: the bytes that are known to have been sent.
    package mutating func uploadCame(
        to resource: UploadResource?, restart: String?, sent: Int64, _ now: ClockReading
    ) {
        if let restart { entries += apply(.sendAgain(reason: restart), now) }
        if let resource { entries += apply(.keep(resource), now) } else { record.upload = nil }
        record.sent = sent
    }

    /// The time in seconds within which people perceive a response as instant (Nielsen, Response Times). A shorter
    /// transfer is committed only once.
    package static let briefSeconds: Double = 0.1
    /// The number of bytes after which a checkpoint is due.
    package static let checkpointBytes: Int64 = 8 << 20
    /// The number of seconds after which a checkpoint is due.
    package static let checkpointSeconds: Double = 2
}
