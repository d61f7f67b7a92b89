import NightshiftAPI

/// Apps whose last step could not be written to the store, and the time of the next try.
struct UnwrittenSteps: Sendable {
    private(set) var apps: Set<AppID> = []
    /// The time of the next try in awake seconds; nil if nothing has to be written.
    private(set) var again: Double?

    /// Seconds until the next try, unless a step of the app is written before.
    private static let pause = 30.0

    mutating func failed(_ app: AppID, now: ClockReading) {
        apps.insert(app)
        again = again ?? now.awakeSeconds + Self.pause
    }

    mutating func written(_ app: AppID) {
        apps.remove(app)
        if apps.isEmpty { again = nil }
    }

    /// Returns the apps that are due for another try.
    mutating func takeDue(_ now: ClockReading) -> Set<AppID> {
        guard let again, again <= now.awakeSeconds else { return [] }
        self.again = nil
        return apps
    }
}
