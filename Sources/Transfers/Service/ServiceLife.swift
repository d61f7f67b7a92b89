import NightshiftAPI

/// How far the service is in its life. Pure.
///
/// - `recovering`: what the last service left is being looked at. ``begin()`` leads to `running`, ``stop()`` to `stopping`.
/// - `running`: ``stop()`` leads to `stopping`.
/// - `stopping`: none.
struct ServiceLife: Sendable {
    private enum Phase {
        case recovering, running, stopping
    }

    let startedAt: ClockReading
    private var phase = Phase.recovering

    init(startedAt: ClockReading) {
        self.startedAt = startedAt
    }

    /// Whether everything that the last service left has been looked at.
    var isRunning: Bool { phase != .recovering }
    var isStopping: Bool { phase == .stopping }

    /// What the last service left has been looked at; one that was stopped meanwhile stays so.
    mutating func begin() {
        if phase == .recovering { phase = .running }
    }

    /// - Returns: false where it was stopped before.
    mutating func stop() -> Bool {
        guard phase != .stopping else { return false }
        phase = .stopping
        return true
    }
}
