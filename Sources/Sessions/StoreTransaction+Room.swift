package import NightshiftAPI
package import Store

extension StoreTransaction {
    /// Why a session cannot be made; nil where it is there already, or may be.
    package func obstacle(toMaking session: SessionID) throws -> Problem? {
        guard try sessionSettings(session) == nil, try sessionCount() >= Limits.sessions else { return nil }
        return .tooMany("There are \(Limits.sessions) sessions already.")
    }
}
