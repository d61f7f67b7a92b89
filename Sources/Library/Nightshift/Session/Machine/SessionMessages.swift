/// The messages of the service to a session. This value records which messages the delegate has received, and which
/// messages the service can delete.
///
/// The service sends messages in the order of their ids, and repeats a message until it is acknowledged or answered.
/// The delegate receives each message once.
struct SessionMessages: Sendable {
    /// The treatment of a message that has arrived.
    enum Fate: Equatable, Sendable {
        case new
        /// The treatment of a message that the delegate has already received. The message is acknowledged again.
        case handled
        /// The treatment of a question that the delegate has been asked and has not answered yet.
        case asked
        /// The treatment of a message that is not delivered, because the session is over.
        case ignored
    }

    /// The ids of questions that the delegate has been asked and the service still waits for.
    private var asked: Set<Int64> = []
    /// The ids of handled messages that are not acknowledged yet.
    private(set) var unacknowledged: [Int64] = []
    /// Whether an acknowledgement is scheduled or in progress.
    private var isAcknowledging = false
    /// The ids of messages that were recently acknowledged or answered, oldest first. An older stream may still send
    /// these messages.
    private var settled: [Int64] = []
    /// The largest id of a message that the delegate received, in this process or an earlier one.
    private(set) var lastHandled: Int64 = 0
    /// Whether this process has received every message from before it.
    private(set) var isCaughtUp = false

    /// The number of recent ids to keep. It is larger than the number of messages that a connection ever has in
    /// transit.
    private static let mostSettled = 1_000

    /// Decides the treatment of a message that has arrived.
    ///
    /// - Parameter isNoted: Whether the file on disk says that the delegate has received the message.
    mutating func receive(_ id: Int64, isQuestion: Bool, isNoted: Bool) -> Fate {
        if asked.contains(id) { return .asked }
        if isNoted || settled.contains(id) {
            if !unacknowledged.contains(id) { unacknowledged.append(id) }
            return .handled
        }
        if isQuestion { asked.insert(id) }
        return .new
    }

    /// Records that the delegate's methods for a message have returned.
    mutating func handle(_ id: Int64) { unacknowledged.append(id) }

    /// Records that the service has the answer to a question, which replaces the acknowledgement.
    mutating func answer(_ id: Int64) {
        asked.remove(id)
        remember([id])
    }

    /// Records that every message up to this one has reached the delegate.
    mutating func advance(to id: Int64) { lastHandled = max(lastHandled, id) }

    mutating func catchUp(to id: Int64) {
        isCaughtUp = true
        advance(to: id)
    }

    // MARK: - Acknowledgement

    /// Begins an acknowledgement, if none is scheduled or in progress.
    ///
    /// - Returns: Whether to schedule an acknowledgement.
    mutating func beginAcknowledging() -> Bool {
        guard !isAcknowledging, !unacknowledged.isEmpty else { return false }
        isAcknowledging = true
        return true
    }

    /// Records that the scheduled acknowledgement has ended. If it failed, the next attachment or message tries again.
    mutating func endAcknowledging() { isAcknowledging = false }

    /// Records that the service has the acknowledgement of these messages.
    mutating func acknowledge(_ ids: [Int64]) {
        let done = Set(ids)
        unacknowledged.removeAll { done.contains($0) }
        remember(ids)
    }

    private mutating func remember(_ ids: [Int64]) { settled = (settled + ids).suffix(Self.mostSettled) }
}
