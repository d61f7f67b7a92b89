package import PushProtocol

/// The payloads that providers have sent lately under ids of their own.
///
/// A device takes a second push with an id that it knows for a repetition, and shows nothing. With another payload it is no
/// repetition, and its provider has to learn so.
package struct PushNames: Sendable {
    private struct Name: Hashable {
        var push: PushID
        var device: DeviceID
    }

    private let limit: Int
    /// Digests of payloads, of the newest pushes and of those before them.
    private var newest: [Name: Int] = [:]
    private var older: [Name: Int] = [:]

    /// - Parameter limit: pushes that are remembered at least; at most twice as many.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether `push` names no other payload for this device; remembers this one.
    package mutating func take(_ push: PushID, device: DeviceID, payload: [UInt8]) -> Bool {
        let name = Name(push: push, device: device)
        var hasher = Hasher()
        hasher.combine(payload)
        let digest = hasher.finalize()
        if let known = newest[name] ?? older[name] { return known == digest }
        if newest.count >= limit { (older, newest) = (newest, [:]) }
        newest[name] = digest
        return true
    }

    /// Forgets a push that was not taken.
    package mutating func forget(_ push: PushID, device: DeviceID) {
        let name = Name(push: push, device: device)
        newest[name] = nil
        older[name] = nil
    }
}
