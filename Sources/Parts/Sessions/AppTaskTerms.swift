package import NightshiftAPI
package import Store

/// The conditions under which an app's new tasks are accepted, derived from the state of the app.
package struct AppTaskTerms: Hashable, Sendable {
    /// The time, in seconds since 1970, before which the tasks do not start. The resume rate limiter sets this delay.
    /// Nil means that there is no delay.
    package var startsPausedUntil: Double?
    /// Whether the app is in the background. If it is, its tasks are discretionary until the app enters the foreground.
    package var isInBackground: Bool

    package init(startsPausedUntil: Double? = nil, isInBackground: Bool = false) {
        self.startsPausedUntil = startsPausedUntil
        self.isInBackground = isInBackground
    }

    /// A function that returns the terms at the time of a transaction. A failure gives the reason why the app cannot
    /// add tasks.
    package typealias Query = @Sendable (StoreTransaction, ClockReading) throws -> Result<AppTaskTerms, Problem>
}
