import NightshiftAPI
import Scheduler
import Store
import Transfers

/// A simulated transfer: the record that the service's own task machine changes, and the bytes.
struct SimulatedTransfer {
    var record: TaskRecord
    /// The name that the app gave the session.
    let session: String
    let lane: Int
    private let bytes: Int64
    private var received = 0.0
    /// The start of the running attempt in boot seconds.
    private(set) var startedAt: Double?
    /// The time in boot seconds since which the transfer has waited.
    var waitsFrom: Double

    /// - Parameter isForced: whether the transfer is discretionary because its app is in the background.
    init(_ request: TracedTransfer, id: TaskID, app: AppID?, lane: Int, isForced: Bool, now: ClockReading) {
        let origin = "http://\(request.host)"
        var download = TaskRequest(url: "\(origin)/")
        download.resourceTimeout = request.resourceTimeout
        record = TaskRecord(
            session: SessionID(rawValue: request.session), origin: origin, state: .waiting, priority: request.priority,
            createdAt: now.wallSeconds, request: download)
        record.id = id
        record.app = app
        record.isLarge = request.bytes >= Admission.largeSize
        record.deadline = now.bootSeconds + request.resourceTimeout
        record.rules = request.rules
        record.scheduleLoosening()
        if isForced { record.forceDiscretion() }
        self.lane = lane
        session = request.session
        bytes = request.bytes
        waitsFrom = now.bootSeconds
    }

    /// Whether the transfer waits for its turn, and not for the end of a pause.
    var isWaiting: Bool { record.state == .waiting && record.notBefore == nil && startedAt == nil }
    var hasFailed: Bool { record.fruitless > 0 }
    var missing: Double { max(0, Double(bytes) - received) }

    /// Begins an attempt.
    mutating func begin(_ now: ClockReading) {
        _ = apply(.begin, now)
        record.attemptRecord.start(from: record.received)
        startedAt = now.bootSeconds
    }

    /// Receives the response to an attempt, which continues after the bytes received so far.
    mutating func accept(_ now: ClockReading) -> [JournalEntry] {
        var partial = record.partial ?? PartialFile(path: "", bootID: now.bootID)
        partial.entityTag = "\"trace\""
        let isLarge = missing >= Double(Admission.largeSize)
        return apply(
            .accept(
                AcceptedResponse(
                    response: ResponseSummary(status: 200, headers: [], httpVersion: "1.1"),
                    url: record.request.url ?? "", partial: partial, isLarge: isLarge, offset: record.received,
                    restart: nil)), now)
    }

    mutating func receive(_ count: Double) {
        received += count
        record.received = Int64(saturating: received)
        record.attemptRecord.advance(to: record.received)
    }

    /// Ends the running attempt, if there is one.
    mutating func stop(_ event: TaskEvent, _ now: ClockReading) -> [JournalEntry] {
        startedAt = nil
        return apply(event, now)
    }

    mutating func apply(_ event: TaskEvent, _ now: ClockReading) -> [JournalEntry] {
        do {
            var entries = try record.apply(event, now: now)
            for index in entries.indices { entries[index].app = record.app }
            return entries
        } catch {
            preconditionFailure("Transfer \(record.id) received an event that its state does not allow: \(error).")
        }
    }
}
