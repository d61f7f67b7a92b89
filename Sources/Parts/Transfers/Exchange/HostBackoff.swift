package import NightshiftAPI

/// The state of one origin, route or proxy: one common pause for all its transfers while it is failing. See
/// ``HostTable``.
///
/// Times are seconds of the boot clock. An exchange begins no earlier than the ``admit(now:)`` that allowed it. These
/// are the states and their legal exits:
///
/// - `open`: all exchanges are allowed. A failure or a refusal leads to `paused`.
/// - `paused`: no exchange is allowed. The first ``admit(now:)`` after the end of the pause leads to `probing`.
///   Failures and refusals of exchanges that began before the pause change nothing. A success ends the pause (`open`),
///   unless the server itself asked for it.
/// - `probing`: one exchange was allowed, and no other is. Its success leads to `open`, its failure or refusal to
///   `paused`. If it ends without either (cancelled, suspended), ``abandoned(began:)`` leads to a pause that is already
///   over.
///
/// A refusal may concern only the URL of one task, so other tasks are tried. The first refusal causes no pause. Each
/// refusal of a further task, without a successful answer in between, doubles the pause, up to the time that the server
/// asked for. If a server refuses all tasks, all of them therefore soon wait for the time that the server asked for.
package struct HostBackoff: Hashable, Sendable {
    private enum State: Hashable {
        case open
        case paused(since: Double, until: Double)
        case probing(since: Double)
    }

    private var state = State.open
    /// The number of consecutive failures that were counted.
    package private(set) var failures = 0
    /// The tasks that were refused since the last successful answer. The list ends at ``mostRefused`` tasks, because
    /// more would not make the pause longer.
    private var refusedTasks: [TaskID] = []

    package init() {}

    /// Whether no failure is recorded. The state can be dropped then.
    package var isOpen: Bool { state == .open }

    /// Whether all other exchanges wait for the end of one exchange. The time of that end is unknown.
    package var isProbing: Bool {
        if case .probing = state { true } else { false }
    }

    /// Whether the server itself asked for the pause.
    package var isRefused: Bool { !refusedTasks.isEmpty }

    /// Returns the end of the pause; nil if no pause is in effect at `now`.
    package func blockedUntil(_ now: Double) -> Double? {
        if case .paused(_, let until) = state, until > now { until } else { nil }
    }

    /// Returns whether an exchange may begin at `now`. The first one allowed after a pause is the probe, and must
    /// begin.
    package mutating func admit(now: Double) -> Bool {
        switch state {
        case .open: return true
        case .probing: return false
        case .paused(_, let until):
            guard now >= until else { return false }
            state = .probing(since: now)
            return true
        }
    }

    /// Records that an exchange that began at `began` did not reach the server.
    ///
    /// A failure is ignored if its exchange began before the current pause or probe, because an earlier failure has
    /// already been recorded.
    ///
    /// - Parameter random: 0..<1.
    package mutating func failed(began: Double, at now: Double, random: Double) {
        guard !isOfBefore(began) else { return }
        failures += failures < .max ? 1 : 0
        pause(at: now, until: now + RetrySchedule.delay(attempt: failures, random: random))
    }

    /// Records that the server answered a task's exchange, begun at `began`, with a request to wait until `until`
    /// (`Retry-After`).
    package mutating func refused(_ task: TaskID, until: Double, began: Double, at now: Double) {
        guard !isOfBefore(began) else { return }
        if !refusedTasks.contains(task), refusedTasks.count < Self.mostRefused { refusedTasks.append(task) }
        pause(at: now, until: min(until, now + RetrySchedule.pause(refused: refusedTasks.count)))
    }

    /// Records that the origin answered an exchange that began at `began`. After a refusal, only an exchange that began
    /// later shows whether the origin answers other tasks. A pause that the server asked for ends only with time.
    package mutating func succeeded(began: Double) {
        if isRefused, isOfBefore(began) { return }
        state = .open
        failures = 0
        refusedTasks = []
    }

    /// Records that an exchange that began at `began` ended without information about the origin. If it was the probe,
    /// the next allowed exchange becomes the probe.
    package mutating func abandoned(began: Double) {
        guard case .probing(let since) = state, began >= since else { return }
        state = .paused(since: since, until: since)
    }

    /// Returns whether an exchange began before the current pause or probe.
    private func isOfBefore(_ began: Double) -> Bool {
        switch state {
        case .open: false
        case .paused(let since, _): began <= since
        case .probing(let since): began < since
        }
    }

    private mutating func pause(at now: Double, until: Double) {
        var end = until
        if case .paused(_, let earlier) = state { end = max(end, earlier) }
        state = .paused(since: now, until: end)
    }

    /// The number of refused tasks after which the pause is longer than the longest `Retry-After` that is obeyed.
    private static let mostRefused = 14
}
