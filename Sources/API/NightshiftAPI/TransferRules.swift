/// The conditions of the device that a transfer requires before it runs. The settings of the request and of its session
/// are combined.
package struct TransferRules: Hashable, Sendable, Codable {
    package var discretion: Discretion = .none
    package var allowsCellularAccess = true
    package var allowsExpensiveNetworkAccess = true
    package var allowsConstrainedNetworkAccess = true
    package var requiresExternalPower = false
    /// The required battery percentage; 0 means no limit.
    package var minimumBattery = 0

    /// The quality of conditions that a transfer waits for. The requirement is relaxed as the resource timeout
    /// approaches.
    package enum Discretion: String, Sendable, Codable, CaseIterable {
        case none
        /// The reduced requirement after half of the resource timeout has passed.
        case relaxed
        case full
    }

    package init() {}

    /// Whether there are no requirements.
    package var isEmpty: Bool { self == TransferRules() }
}

extension TransferRules {
    /// A number that represents the rules. Transfers with the same rules form one class of the queue.
    package var code: Int64 {
        var value = Int64(minimumBattery) << 8
        switch discretion {
        case .none: break
        case .relaxed: value |= 1
        case .full: value |= 2
        }
        if !allowsCellularAccess { value |= 4 }
        if !allowsExpensiveNetworkAccess { value |= 8 }
        if !allowsConstrainedNetworkAccess { value |= 16 }
        if requiresExternalPower { value |= 32 }
        return value
    }

    /// Creates the rules that this number represents. Returns nil if no rules have this number.
    package init?(code: Int64) {
        guard code >= 0, code & 0xc3 <= 2, code >> 8 <= 100 else { return nil }
        discretion = [.none, .relaxed, .full][Int(code & 3)]
        allowsCellularAccess = code & 4 == 0
        allowsExpensiveNetworkAccess = code & 8 == 0
        allowsConstrainedNetworkAccess = code & 16 == 0
        requiresExternalPower = code & 32 != 0
        minimumBattery = Int(code >> 8)
    }
}
