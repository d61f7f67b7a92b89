package import NightshiftAPI

/// The pause of a transfer after a failure: its reason and its end.
///
/// ``after(_:in:now:random:)`` computes it from the failed attempt and the state of the attempt's route. It also
/// records the failure in the ``HostTable``, for the other tasks that the failure affects.
package struct FailurePause: Hashable, Sendable {
    package var reason: WaitReason
    /// The end of the pause, in boot seconds.
    package var notBefore: Double

    /// A failed attempt.
    package struct Attempt: Sendable {
        package var failure: TransferFailure
        package var attribution: FailureAttribution
        package var task: TaskID
        package var way: HostTable.Way
        /// The start of the attempt, in boot seconds.
        package var began: Double
        /// The number of consecutive failures before this one.
        package var failures: Int
        /// The pause that the server requested.
        package var retryAfter: RetryAfter?

        package init(
            failure: TransferFailure, attribution: FailureAttribution, task: TaskID, way: HostTable.Way, began: Double,
            failures: Int,
            retryAfter: RetryAfter?
        ) {
            self.failure = failure
            self.attribution = attribution
            self.task = task
            self.way = way
            self.began = began
            self.failures = failures
            self.retryAfter = retryAfter
        }
    }

    /// The number of seconds until the next attempt after an error on this machine, such as a full disk. The pause is
    /// short because the cause may end at any moment, and the attempt costs no server a request.
    package static let ofThisMachine: Double = 10

    /// Decides the pause after a failed attempt.
    ///
    /// - Parameter random: returns numbers in 0..<1.
    package static func after(
        _ attempt: Attempt, in hosts: inout HostTable, now: ClockReading, random: () -> Double
    ) -> FailurePause {
        let (failure, time) = (attempt.failure, now.bootSeconds)
        let asked = attempt.retryAfter.map { time + RetrySchedule.retryAfter($0, now: now.wallSeconds) }
        var delay = RetrySchedule.delay(attempt: attempt.failures + 1, random: random())
        if failure.code == .inputOutput { delay = min(delay, ofThisMachine) }
        hosts.failed(
            attempt.way, attempt.attribution, failure, of: attempt.task, began: attempt.began, refusedUntil: asked,
            now: now,
            random: random())
        if failure.code == .diskFull { return FailurePause(reason: .diskSpace, notBefore: time + ofThisMachine) }
        // A server that repeatedly asks for 0 seconds has not asked for a pause.
        if let asked, asked > time { return FailurePause(reason: .retryAfter, notBefore: asked) }
        switch attempt.attribution {
        case .address, .proxy:
            return FailurePause(
                reason: .retry, notBefore: hosts.blockedUntil(attempt.way, time) ?? time + delay)
        case .origin, .request, .nobody: return FailurePause(reason: .retry, notBefore: time + delay)
        }
    }
}

extension FailureAttribution {
    /// Returns the failure attribution of an attempt that may have received bytes. A later failure is not attributed to
    /// an origin that was reached. The next attempt shows whether that origin is still reachable.
    package func ofAttempt(hasAdvanced: Bool) -> FailureAttribution { self == .address && hasAdvanced ? .nobody : self }
}
