import NightshiftAPI

/// Apps whose last step the store did not take, and when that is tried again.
struct UnwrittenSteps: Sendable {
    private(set) var apps: Set<AppID> = []
    /// In awake seconds; nil while nothing is to be tried again.
    private(set) var again: Double?

    /// Seconds after which it is tried again, where nothing happens before.
    private static let pause = 30.0

    mutating func failed(_ app: AppID, now: ClockReading) {
        apps.insert(app)
        again = again ?? now.awakeSeconds + Self.pause
    }

    mutating func written(_ app: AppID) {
        apps.remove(app)
        if apps.isEmpty { again = nil }
    }

    /// Those that are tried again now.
    mutating func takeDue(_ now: ClockReading) -> Set<AppID> {
        guard let again, again <= now.awakeSeconds else { return [] }
        self.again = nil
        return apps
    }
}
