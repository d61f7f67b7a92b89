/// The messages of the service to a session: which ones the delegate has had, and which ones the service can forget.
///
/// The service sends a message until it is acknowledged or answered, in the order of the ids. The delegate gets each one once.
struct SessionMessages: Sendable {
    /// The treatment of a message that has come.
    enum Fate: Equatable, Sendable {
        case new
        /// The delegate has had it: it is acknowledged again.
        case handled
        /// The delegate has been asked, and its answer is not there yet.
        case asked
        /// The session is over.
        case ignored
    }

    /// Questions that the delegate has been asked and that the service waits for.
    private var asked: Set<Int64> = []
    /// Handled messages that the service has yet to hear of.
    private(set) var unacknowledged: [Int64] = []
    /// Whether an acknowledgement is scheduled or under way.
    private var isAcknowledging = false
    /// Messages acknowledged or answered lately, the oldest first: a stream that was opened before may still bring them.
    private var settled: [Int64] = []
    /// The largest id of a message that the delegate has been given, by this process or an earlier one.
    private(set) var lastHandled: Int64 = 0
    /// Whether this process has been given every message from before it.
    private(set) var isCaughtUp = false

    /// More than one connection ever has under way.
    private static let mostSettled = 1_000

    /// - Parameter isNoted: whether the disk says that the delegate has had it.
    mutating func receive(_ id: Int64, isQuestion: Bool, isNoted: Bool) -> Fate {
        if asked.contains(id) { return .asked }
        if isNoted || settled.contains(id) {
            if !unacknowledged.contains(id) { unacknowledged.append(id) }
            return .handled
        }
        if isQuestion { asked.insert(id) }
        return .new
    }

    /// The delegate's methods for a message have returned.
    mutating func handle(_ id: Int64) { unacknowledged.append(id) }

    /// The service has the answer to a question, which is as good as an acknowledgement.
    mutating func answer(_ id: Int64) {
        asked.remove(id)
        remember([id])
    }

    /// Everything up to this message has reached the delegate.
    mutating func advance(to id: Int64) { lastHandled = max(lastHandled, id) }

    mutating func catchUp(to id: Int64) {
        isCaughtUp = true
        advance(to: id)
    }

    // MARK: - Acknowledgement

    /// - Returns: whether to schedule an acknowledgement.
    mutating func beginAcknowledging() -> Bool {
        guard !isAcknowledging, !unacknowledged.isEmpty else { return false }
        isAcknowledging = true
        return true
    }

    /// The scheduled acknowledgement is over. Where it failed, the next attachment or message tries again.
    mutating func endAcknowledging() { isAcknowledging = false }

    /// The service has heard of these.
    mutating func acknowledge(_ ids: [Int64]) {
        let done = Set(ids)
        unacknowledged.removeAll { done.contains($0) }
        remember(ids)
    }

    private mutating func remember(_ ids: [Int64]) { settled = (settled + ids).suffix(Self.mostSettled) }
}
