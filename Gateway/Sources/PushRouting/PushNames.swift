package import PushProtocol

/// The payloads that providers have recently sent under ids that they chose.
///
/// A device treats a second push with a known id as a repetition and shows nothing. If the payload differs, it is not a
/// repetition, and the provider must be informed.
package struct PushNames: Sendable {
    private struct Name: Hashable {
        var push: PushID
        var device: DeviceID
    }

    private let limit: Int
    /// Digests of the payloads of the newest pushes. `older` holds those of the pushes before them.
    private var newest: [Name: Int] = [:]
    private var older: [Name: Int] = [:]

    /// - Parameter limit: the least number of pushes that are remembered; at most twice as many are.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Returns false if this device has received another payload under the id `push`. Otherwise records the payload.
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

    /// Forgets a push that was not accepted.
    package mutating func forget(_ push: PushID, device: DeviceID) {
        let name = Name(push: push, device: device)
        newest[name] = nil
        older[name] = nil
    }
}
