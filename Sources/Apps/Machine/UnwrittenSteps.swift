import NightshiftAPI

/// The apps whose last step could not be written to the store, and the time of the next attempt.
struct UnwrittenSteps: Sendable {
    private(set) var apps: Set<AppID> = []
    /// The time of the next attempt, in awake seconds; nil if all steps are written.
    private(set) var again: Double?

    /// The number of seconds until the next attempt, unless a step of the app is written earlier.
    private static let pause = 30.0

    mutating func failed(_ app: AppID, now: ClockReading) {
        apps.insert(app)
        again = again ?? now.awakeSeconds + Self.pause
    }

    mutating func written(_ app: AppID) {
        apps.remove(app)
        if apps.isEmpty { again = nil }
    }

    /// Returns the apps that are due for another attempt, and clears the time of that attempt.
    mutating func takeDue(_ now: ClockReading) -> Set<AppID> {
        guard let again, again <= now.awakeSeconds else { return [] }
        self.again = nil
        return apps
    }
}
