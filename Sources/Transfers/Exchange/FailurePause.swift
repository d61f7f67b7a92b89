package import NightshiftAPI

/// Decides how long a transfer waits after a failure and what for, and holds the failure against whom it speaks.
///
/// Pure, as ``HostTable`` is, in which the second half is written down.
package struct FailurePause: Hashable, Sendable {
    package var reason: WaitReason
    /// Boot seconds.
    package var notBefore: Double

    /// An attempt that has failed.
    package struct Attempt: Sendable {
        package var failure: TransferFailure
        package var blame: Blame
        package var task: TaskID
        package var way: HostTable.Way
        /// Boot seconds.
        package var began: Double
        /// Failures in a row before this one.
        package var failures: Int
        /// The pause that the server asked for.
        package var retryAfter: RetryAfter?

        package init(
            failure: TransferFailure, blame: Blame, task: TaskID, way: HostTable.Way, began: Double, failures: Int,
            retryAfter: RetryAfter?
        ) {
            self.failure = failure
            self.blame = blame
            self.task = task
            self.way = way
            self.began = began
            self.failures = failures
            self.retryAfter = retryAfter
        }
    }

    /// Seconds after which trouble of this machine, such as a full disk, is looked at again: it may be over at any moment, and
    /// no server is asked in vain.
    package static let ofThisMachine: Double = 10

    /// - Parameter random: gives numbers in 0..<1.
    package static func after(
        _ attempt: Attempt, in hosts: inout HostTable, now: ClockReading, random: () -> Double
    ) -> FailurePause {
        let (failure, time) = (attempt.failure, now.bootSeconds)
        let asked = attempt.retryAfter.map { time + RetrySchedule.retryAfter($0, now: now.wallSeconds) }
        var delay = RetrySchedule.delay(attempt: attempt.failures + 1, random: random())
        if failure.code == .inputOutput { delay = min(delay, ofThisMachine) }
        hosts.failed(
            attempt.way, attempt.blame, failure, of: attempt.task, began: attempt.began, refusedUntil: asked, now: now,
            random: random())
        if failure.code == .diskFull { return FailurePause(reason: .diskSpace, notBefore: time + ofThisMachine) }
        // "In 0 seconds", said again and again, is no wish.
        if let asked, asked > time { return FailurePause(reason: .retryAfter, notBefore: asked) }
        switch attempt.blame {
        case .address, .proxy:
            return FailurePause(
                reason: .retry, notBefore: hosts.blockedUntil(attempt.way, time) ?? time + delay)
        case .origin, .request, .nobody: return FailurePause(reason: .retry, notBefore: time + delay)
        }
    }
}

extension Blame {
    /// The same of an attempt that may have brought something: an origin that it reached is not blamed for what came after.
    /// The next attempt shows whether it still can be reached.
    package func ofAttempt(hasAdvanced: Bool) -> Blame { self == .address && hasAdvanced ? .nobody : self }
}
