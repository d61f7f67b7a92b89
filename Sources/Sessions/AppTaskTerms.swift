package import NightshiftAPI
package import Store

/// The terms on which an app's new tasks are accepted, derived from the state of the app.
package struct AppTaskTerms: Hashable, Sendable {
    /// The time in seconds since 1970 before which the tasks do not start (the resume rate limiter); nil without a
    /// delay.
    package var startsPausedUntil: Double?
    /// Whether the app is in the background. Its tasks are then discretionary until it enters the foreground.
    package var isInBackground: Bool

    package init(startsPausedUntil: Double? = nil, isInBackground: Bool = false) {
        self.startsPausedUntil = startsPausedUntil
        self.isInBackground = isInBackground
    }

    /// Returns the terms at the time of a transaction; a failure is the reason why the app cannot add tasks.
    package typealias Query = @Sendable (StoreTransaction, ClockReading) throws -> Result<AppTaskTerms, Problem>
}
