import NightshiftAPI
package import Scheduler
package import Store

/// The measurement of progress. A task makes progress if more bytes than ever before are on disk or on the server, and
/// if the next attempt continues after these bytes. Discarded bytes do not count. ``AttemptRecord`` describes when the
/// service can be sure of progress.
extension TaskRecord {
    /// The number of bytes that the next attempt continues from; 0 if it must start again.
    package var continuableCount: Int64 {
        if kind == .upload { return upload?.offset ?? 0 }
        guard method == "GET", let partial, received > 0 else { return 0 }
        return ExchangePlan(partial: partial.bytes(count: received, checksum: request.checksum)).asksForRange
            ? received : 0
    }

    /// The number of continuable bytes before the first gap. Bytes after a gap are discarded if a single connection has
    /// to continue, so these bytes count only when a response continues with the gaps.
    private var contiguousCount: Int64 { min(continuableCount, partial?.segments?.prefix ?? .max) }

    /// Whether the current attempt has made lasting progress.
    package var hasAdvanced: Bool { attemptRecord.hasAdvanced(to: contiguousCount) }

    /// Whether the last attempt made no lasting progress.
    var hasFailed: Bool { fruitless > 0 }

    /// The history of the task's attempts.
    package var attemptRecord: AttemptRecord {
        get { AttemptRecord(failures: failures, fruitless: fruitless, furthest: furthest, restarts: restarts) }
        set {
            failures = newValue.failures
            fruitless = newValue.fruitless
            furthest = newValue.furthest
            restarts = newValue.restarts
        }
    }

    /// Begins an attempt.
    mutating func beginAttempt() {
        attempts += 1
        attemptRecord.begin()
    }

    /// Removes an attempt that the service itself has ended from the history.
    mutating func withdrawAttempt() { attemptRecord.withdraw() }

    /// Records the number of bytes on disk when an attempt begins. This number may be higher than the number that was
    /// committed before a crash.
    mutating func noteStart() { attemptRecord.start(from: contiguousCount) }

    /// Records the progress of the current attempt.
    mutating func noteProgress() { attemptRecord.advance(to: contiguousCount) }

    /// Records that the server continues after this number of bytes.
    mutating func noteContinuation(from count: Int64) { attemptRecord.goOn(from: count) }

    /// Records that bytes on disk are discarded.
    mutating func noteRestart() { attemptRecord.restart() }

    /// The reason why the next attempt must start again, as a sentence for display. Nil if the next attempt continues,
    /// or if no bytes are lost.
    var lossSentence: String? {
        switch kind {
        case .download where received > 0 && continuableCount == 0:
            "The transfer starts from byte 0 each time, because the server does not support resuming it."
        case .download where restarts > 1 && !hasAdvanced:
            "The transfer started from byte 0 repeatedly, because it could not continue from the received bytes."
        case .upload where restarts > 1 && !hasAdvanced:
            "The transfer started from byte 0 repeatedly, because the server did not keep the bytes already sent."
        case .download, .upload: nil
        }
    }

    /// Returns the failure that ends a download whose attempts fetch the same bytes repeatedly. Returns nil if the
    /// download may be tried again.
    ///
    /// - Parameters:
    ///   - failure: the failure of the current attempt.
    ///   - bytes: the bytes that this attempt has fetched from byte 0 on.
    func hopeless(_ failure: TransferFailure, fetching bytes: Int64) -> TransferFailure? {
        guard kind == .download, bytes > 0, attemptRecord.isHopeless(fetching: bytes), !hasAdvanced else { return nil }
        var failure = failure
        failure.message +=
            " The download has started from byte 0 \(restarts + 1) times and could never be resumed, "
            + "so it is not tried again."
        return failure
    }
}
