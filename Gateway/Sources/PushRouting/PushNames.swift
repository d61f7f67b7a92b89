package import PushProtocol

/// The payloads that providers have recently sent under push ids that the providers chose.
///
/// A device treats a second push with a known id as a repetition, and does not show it. If the payload differs, the
/// push is not a repetition, and the provider must be informed.
package struct PushNames: Sendable {
    private struct Name: Hashable {
        var push: PushID
        var device: DeviceID
    }

    private let limit: Int
    /// The digests of the newest payloads. `older` holds the digests of the payloads before them.
    private var newest: [Name: Int] = [:]
    private var older: [Name: Int] = [:]

    /// Creates an empty table.
    ///
    /// - Parameter limit: the minimum number of pushes that are remembered. At most twice as many are remembered.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Records the payload of a push. Returns false if this device has received another payload under the same id.
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

    /// Discards the record of a push that was not accepted.
    package mutating func forget(_ push: PushID, device: DeviceID) {
        let name = Name(push: push, device: device)
        newest[name] = nil
        older[name] = nil
    }
}
