/// When transfers may go where they all go: one pause for all of them when that is in trouble. See ``HostTable``.
///
/// Times are seconds of the boot clock; an exchange begins no earlier than the ``admit(now:)`` that let it through. The states and their legal exits:
///
/// - `open`: everything is let through. A failure or a refusal leads to `paused`.
/// - `paused`: nothing is let through. The first ``admit(now:)`` after its end leads to `probing`; failures of exchanges that
///   began before the pause change nothing; a refusal prolongs it; a success ends it (`open`), unless the server itself
///   asked for the pause.
/// - `probing`: one exchange was let through, nothing else is. Its success leads to `open`, its failure or a refusal to
///   `paused`, its end without either (cancelled, suspended) through ``abandoned(began:)`` to a pause that is over.
package struct HostBackoff: Hashable, Sendable {
    private enum State: Hashable {
        case open
        case paused(since: Double, until: Double, refused: Bool)
        case probing(since: Double)
    }

    private var state = State.open
    /// Failures in a row that were counted.
    package private(set) var failures = 0

    package init() {}

    /// Whether nothing is known against the origin; the machine need not be kept then.
    package var isOpen: Bool { state == .open }

    /// Whether everything waits for one exchange, which ends the wait by its own end and not at a time.
    package var isProbing: Bool {
        if case .probing = state { true } else { false }
    }

    /// Whether the server itself asked for the pause.
    package var isRefused: Bool {
        if case .paused(_, _, refused: true) = state { true } else { false }
    }

    /// When the pause ends; nil if there is none any more at `now`.
    package func blockedUntil(_ now: Double) -> Double? {
        if case .paused(_, let until, _) = state, until > now { until } else { nil }
    }

    /// Whether an exchange may begin at `now`. After a pause the first that asks is the probe and has to begin.
    package mutating func admit(now: Double) -> Bool {
        switch state {
        case .open: return true
        case .probing: return false
        case .paused(_, let until, _):
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
        switch state {
        case .open: break
        case .paused(let since, _, _): if began <= since { return }
        case .probing(let since): if began < since { return }
        }
        failures += failures < .max ? 1 : 0
        pause(at: now, until: now + RetrySchedule.delay(attempt: failures, random: random), refused: false)
    }

    /// The server asked to be left alone until `until` (`Retry-After`). The longest such wish counts.
    package mutating func refused(until: Double, at now: Double) {
        pause(at: now, until: until, refused: true)
    }

    /// The origin answered an exchange. Nothing but time ends a pause that the server asked for.
    package mutating func succeeded() {
        if case .paused(_, _, refused: true) = state { return }
        state = .open
        failures = 0
    }

    /// An exchange that began at `began` has ended without telling anything about the origin. If it was the probe, the next
    /// that asks takes its place.
    package mutating func abandoned(began: Double) {
        guard case .probing(let since) = state, began >= since else { return }
        state = .paused(since: since, until: since, refused: false)
    }

    private mutating func pause(at now: Double, until: Double, refused: Bool) {
        var end = until
        var asked = refused
        if case .paused(_, let earlier, let wasRefused) = state {
            end = max(end, earlier)
            asked = asked || wasRefused
        }
        state = .paused(since: now, until: end, refused: asked)
    }
}
