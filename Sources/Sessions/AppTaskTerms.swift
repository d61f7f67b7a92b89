package import NightshiftAPI
package import Store

/// On what terms the tasks that an app adds are accepted: what its state makes of them.
package struct AppTaskTerms: Hashable, Sendable {
    /// Seconds since 1970 until which they do not start (the resume rate limiter); nil where they may.
    package var startsPausedUntil: Double?
    /// Whether the app is in the background: its tasks then wait for a good moment until it is in front.
    package var isInBackground: Bool

    package init(startsPausedUntil: Double? = nil, isInBackground: Bool = false) {
        self.startsPausedUntil = startsPausedUntil
        self.isInBackground = isInBackground
    }

    /// Reads the terms that hold in a transaction; a failure is why the app cannot add tasks.
    package typealias Query = @Sendable (StoreTransaction, ClockReading) throws -> Result<AppTaskTerms, Problem>
}
