import NightshiftAPI

/// The life cycle of the service, as a pure value. The phases and their legal exits are:
///
/// - `recovering`: the service reads the state left by its previous run. ``begin()`` leads to `running`, ``stop()`` to
///   `stopping`.
/// - `running`: ``stop()`` leads to `stopping`.
/// - `stopping`: no exit.
struct ServiceLife: Sendable {
    private enum Phase {
        case recovering, running, stopping
    }

    let startedAt: ClockReading
    private var phase = Phase.recovering

    init(startedAt: ClockReading) {
        self.startedAt = startedAt
    }

    /// Whether recovery is complete.
    var isRunning: Bool { phase != .recovering }
    var isStopping: Bool { phase == .stopping }

    /// Ends recovery. Does nothing if the service was stopped meanwhile.
    mutating func begin() {
        if phase == .recovering { phase = .running }
    }

    /// Stops the service.
    ///
    /// - Returns: false if the service was already stopped.
    mutating func stop() -> Bool {
        guard phase != .stopping else { return false }
        phase = .stopping
        return true
    }
}
