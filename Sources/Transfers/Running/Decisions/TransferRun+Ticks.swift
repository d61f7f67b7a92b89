package import NightshiftAPI
import Scheduler
package import Store

/// What is decided while an exchange goes on.
extension TransferRun {
    /// Whether bytes are synced and written down now.
    ///
    /// - Parameter new: bytes that have come since the last time.
    package func isCheckpointDue(new: Int64, now: Double) -> Bool {
        phase == .exchanging && new > 0
            && (new >= Self.checkpointBytes || now - checkpointAt >= Self.checkpointSeconds)
    }

    /// Bytes were synced, or could not be, which ends the exchange.
    ///
    /// - Parameters:
    ///   - received: bytes that are here.
    ///   - synced: those from the start without a gap that are on disk.
    ///   - map: where some may lie behind gaps, and the row says so.
    package mutating func checkpointed(
        _ isSynced: Bool, received: Int64, synced: Int64, map: SegmentMap? = nil, _ now: ClockReading
    ) -> [TransferAction] {
        // It may have ended meanwhile: its end has told more.
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

    /// Writes down that it runs, where it goes on for longer than one that is written down once, at its end.
    package mutating func beginningNoted(_ now: ClockReading) -> [TransferAction] {
        guard let due = noteDue, now.bootSeconds >= due else { return [] }
        return note()
    }

    /// Boot seconds at which it is written down that it runs; nil where that is known, or comes with its end.
    package var noteDue: Double? {
        phase == .exchanging && !entries.isEmpty ? max(startedAt, answeredAt ?? 0) + Self.briefSeconds : nil
    }

    /// Another moment: where it forbids the task, what goes on is interrupted and keeps its bytes.
    ///
    /// - Parameter awaitsResponse: whether nothing can move before the server has answered.
    package mutating func momentChanged(_ moment: DeviceMoment, awaitsResponse: Bool) -> [TransferAction] {
        guard !isEnding,
            let interruption = Interruption(moment, record.needs, awaitsResponse: awaitsResponse)
        else { return [] }
        return interrupt(interruption)
    }

    /// Its connection may be dead: it has a short time to show that it still carries something.
    ///
    /// - Parameters:
    ///   - count: bytes that have come.
    ///   - awake: seconds of the awake clock.
    package mutating func doubtConnection(count: Int64, awaitsResponse: Bool, awake: Double) {
        guard !isEnding, !record.needs.isLoopback, !awaitsResponse else { return }
        probation = Probation(count: count, until: awake + Probation.length)
    }

    /// Looks at a connection that is in doubt: what has brought nothing in its time is broken off.
    ///
    /// - Parameters:
    ///   - count: bytes that have come.
    ///   - awaitsResponse: whether nothing can move before the server has answered.
    ///   - awake: seconds of the awake clock.
    package mutating func probationTick(count: Int64, awaitsResponse: Bool, awake: Double) -> [TransferAction] {
        guard let doubted = probation else { return [] }
        if count != doubted.count || awaitsResponse {
            probation = nil
            return []
        }
        guard awake >= doubted.until else { return [] }
        probation = nil
        return isEnding ? [] : interrupt(.reconnect)
    }

    // MARK: - Uploads

    /// The server keeps what arrives: where, is written down while it does.
    package mutating func uploadKept(_ resource: UploadResource, _ now: ClockReading) -> [TransferAction] {
        guard phase == .exchanging else { return [] }
        checkpointAt = now.bootSeconds
        let told = apply(.keep(resource), now)
        return note(told)
    }

    /// Writes down how far an upload is, now and then, so that a server that forgets is found out after a crash too.
    ///
    /// - Parameter sent: bytes that have arrived, as far as can be told.
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

    /// A request of an upload has ended: what the server has of it by then.
    ///
    /// - Parameters:
    ///   - restart: why what it had is lost.
    ///   - sent: bytes that have arrived, as far as can be told.
    package mutating func uploadCame(
        to resource: UploadResource?, restart: String?, sent: Int64, _ now: ClockReading
    ) {
        if let restart { entries += apply(.sendAgain(reason: restart), now) }
        if let resource { entries += apply(.keep(resource), now) } else { record.upload = nil }
        record.sent = sent
    }

    /// Seconds within which people take an answer for an instant one (Nielsen, Response Times). A transfer that ends sooner is
    /// written down once.
    package static let briefSeconds: Double = 0.1
    /// Bytes after which a checkpoint is due.
    package static let checkpointBytes: Int64 = 8 << 20
    /// Seconds after which a checkpoint is due.
    package static let checkpointSeconds: Double = 2
}
