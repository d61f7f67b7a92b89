/// What a task needs of the device before it runs: the values of its request, resolved.
package struct TransferRules: Hashable, Sendable, Codable {
    package var discretion: Discretion = .none
    package var allowsCellularAccess = true
    package var allowsExpensiveNetworkAccess = true
    package var allowsConstrainedNetworkAccess = true
    package var requiresExternalPower = false
    /// Percent; 0 is no limit.
    package var minimumBattery = 0

    /// How good a moment it waits for. It loosens as the resource timeout nears.
    package enum Discretion: String, Sendable, Codable, CaseIterable {
        case none
        /// Half of its time has passed.
        case relaxed
        case full
    }

    package init() {}

    /// Whether it takes any network and any power.
    package var isEmpty: Bool { self == TransferRules() }
}

extension TransferRules {
    /// As a number: tasks of equal rules are one class of the queue.
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

    /// Nil where no rules have this number.
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
