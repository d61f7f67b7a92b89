package import NightshiftAPI
package import Store

extension StoreTransaction {
    /// Returns the reason why a session cannot be created. Returns nil if the session exists or may be created.
    package func obstacle(toMaking session: SessionID) throws -> Problem? {
        guard try sessionSettings(session) == nil, try sessionCount() >= Limits.sessions else { return nil }
        return .tooMany("The limit of \(Limits.sessions) sessions has been reached.")
    }
}
