package import NightshiftAPI

/// When transfers may go where they all go: one pause for all of them when that is in trouble. See ``HostTable``.
///
/// Times are seconds of the boot clock; an exchange begins no earlier than the ``admit(now:)`` that let it through. The states and their legal exits:
///
/// - `open`: everything is let through. A failure or a refusal leads to `paused`.
/// - `paused`: nothing is let through. The first ``admit(now:)`` after its end leads to `probing`; failures and refusals of
///   exchanges that began before the pause change nothing; a success ends it (`open`), unless the server itself asked for the
///   pause.
/// - `probing`: one exchange was let through, nothing else is. Its success leads to `open`, its failure or a refusal to
///   `paused`, its end without either (cancelled, suspended) through ``abandoned(began:)`` to a pause that is over.
///
/// One task's refusal may be meant for its URL alone, so others are asked: after the first at once, after each further task that is
/// refused, with an answer to nobody in between, after a pause that doubles, up to what the server asked for. Where it refuses
/// everybody, it soon is left alone for as long as it wants.
package struct HostBackoff: Hashable, Sendable {
    private enum State: Hashable {
        case open
        case paused(since: Double, until: Double)
        case probing(since: Double)
    }

    private var state = State.open
    /// Failures in a row that were counted.
    package private(set) var failures = 0
    /// The tasks that were refused since an answer came, as far as they make the pause longer.
    private var refusedTasks: [TaskID] = []

    package init() {}

    /// Whether nothing is known against the origin; the machine need not be kept then.
    package var isOpen: Bool { state == .open }

    /// Whether everything waits for one exchange, which ends the wait by its own end and not at a time.
    package var isProbing: Bool {
        if case .probing = state { true } else { false }
    }

    /// Whether the server itself asked for the pause.
    package var isRefused: Bool { !refusedTasks.isEmpty }

    /// When the pause ends; nil if there is none any more at `now`.
    package func blockedUntil(_ now: Double) -> Double? {
        if case .paused(_, let until) = state, until > now { until } else { nil }
    }

    /// Whether an exchange may begin at `now`. After a pause the first that asks is the probe and has to begin.
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

    /// An exchange that began at `began` did not get through.
    ///
    /// Exchanges that began before the present pause, or before the present probe, suffer from what is already known.
    ///
    /// - Parameter random: 0..<1.
    package mutating func failed(began: Double, at now: Double, random: Double) {
        guard !isOfBefore(began) else { return }
        failures += failures < .max ? 1 : 0
        pause(at: now, until: now + RetrySchedule.delay(attempt: failures, random: random))
    }

    /// The server answered a task's exchange that began at `began` with the wish to be left alone until `until` (`Retry-After`).
    package mutating func refused(_ task: TaskID, until: Double, began: Double, at now: Double) {
        guard !isOfBefore(began) else { return }
        if !refusedTasks.contains(task), refusedTasks.count < Self.mostRefused { refusedTasks.append(task) }
        pause(at: now, until: min(until, now + RetrySchedule.pause(refused: refusedTasks.count)))
    }

    /// The origin answered an exchange that began at `began`. After a refusal only one that began later tells whether it answers others;
    /// nothing but time ends a pause that the server asked for.
    package mutating func succeeded(began: Double) {
        if isRefused, isOfBefore(began) { return }
        state = .open
        failures = 0
        refusedTasks = []
    }

    /// An exchange that began at `began` has ended without telling anything about the origin. If it was the probe, the next
    /// that asks takes its place.
    package mutating func abandoned(began: Double) {
        guard case .probing(let since) = state, began >= since else { return }
        state = .paused(since: since, until: since)
    }

    /// Whether an exchange began before what is already known.
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

    /// Behind so many the pause is longer than any that is obeyed.
    private static let mostRefused = 14
}
