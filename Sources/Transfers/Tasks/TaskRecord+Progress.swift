import NightshiftAPI
package import Scheduler
package import Store

/// What counts as progress: that more bytes than ever before are here, or at the server, and the next attempt goes on behind
/// them. Bytes that are thrown away are none; ``AttemptRecord`` says when that is known.
extension TaskRecord {
    /// Bytes that the next attempt continues from; 0 where it has to begin again.
    package var continuableCount: Int64 {
        if kind == .upload { return upload?.offset ?? 0 }
        guard method == "GET", let partial, received > 0 else { return 0 }
        return ExchangePlan(partial: partial.bytes(count: received, checksum: request.checksum)).asksForRange
            ? received : 0
    }

    /// Those of them that no gap is before. What lies behind one is given up where one plain connection has to do, so it
    /// counts when an answer goes on with the gaps.
    private var contiguousCount: Int64 { min(continuableCount, partial?.segments?.prefix ?? .max) }

    /// Whether the present attempt has brought anything that lasts.
    package var hasAdvanced: Bool { attemptRecord.hasAdvanced(to: contiguousCount) }

    /// Whether its last attempt left nothing that lasts.
    var hasFailed: Bool { fruitless > 0 }

    /// The history of its attempts.
    package var attemptRecord: AttemptRecord {
        get { AttemptRecord(failures: failures, fruitless: fruitless, furthest: furthest, restarts: restarts) }
        set {
            failures = newValue.failures
            fruitless = newValue.fruitless
            furthest = newValue.furthest
            restarts = newValue.restarts
        }
    }

    /// An attempt begins.
    mutating func beginAttempt() {
        attempts += 1
        attemptRecord.begin()
    }

    /// The service itself has ended the attempt, which says nothing of it.
    mutating func withdrawAttempt() { attemptRecord.withdraw() }

    /// Looks at what is here when an attempt begins: more than was written down came before the service died.
    mutating func noteStart() { attemptRecord.start(from: contiguousCount) }

    /// Takes in how far the present attempt has come.
    mutating func noteProgress() { attemptRecord.advance(to: contiguousCount) }

    /// The server goes on behind so many bytes.
    mutating func noteContinuation(from count: Int64) { attemptRecord.goOn(from: count) }

    /// Bytes that were here are thrown away.
    mutating func noteRestart() { attemptRecord.restart() }

    /// Why the next attempt has to begin again, in a person's words; nil where it continues, or where nothing is lost.
    var lossSentence: String? {
        switch kind {
        case .download where received > 0 && continuableCount == 0:
            "It starts from byte 0 each time: the server gives no means to continue."
        case .download where restarts > 1 && !hasAdvanced:
            "It has started from byte 0 again and again: what had come could not be continued."
        case .upload where restarts > 1 && !hasAdvanced:
            "It has started from byte 0 again and again: the server did not keep what had arrived."
        case .download, .upload: nil
        }
    }

    /// The failure that ends a download whose attempts bring the same bytes again and again; nil where it may be tried again.
    ///
    /// - Parameters:
    ///   - failure: the present attempt's.
    ///   - bytes: what that has fetched, from byte 0 on.
    func hopeless(_ failure: TransferFailure, fetching bytes: Int64) -> TransferFailure? {
        guard kind == .download, bytes > 0, attemptRecord.isHopeless(fetching: bytes), !hasAdvanced else { return nil }
        var failure = failure
        failure.message +=
            " The download has started from byte 0 \(restarts + 1) times, and no attempt could be continued: "
            + "it is not tried again."
        return failure
    }
}
