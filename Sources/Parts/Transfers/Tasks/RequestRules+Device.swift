import NightshiftAPI

/// The requirements of a request for power and network.
extension RequestRules {
    /// Returns the task's own rules. Missing values come from its session.
    static func rules(_ request: TaskRequest, _ settings: SessionSettings) -> TransferRules {
        var rules = TransferRules()
        rules.discretion = request.isDiscretionary ?? settings.isDiscretionary ? .full : .none
        rules.allowsCellularAccess = request.allowsCellularAccess ?? settings.allowsCellularAccess
        rules.allowsExpensiveNetworkAccess =
            request.allowsExpensiveNetworkAccess ?? settings.allowsExpensiveNetworkAccess
        rules.allowsConstrainedNetworkAccess =
            request.allowsConstrainedNetworkAccess ?? settings.allowsConstrainedNetworkAccess
        rules.requiresExternalPower = request.requiresExternalPower ?? settings.requiresExternalPower
        rules.minimumBattery = Int(saturating: (request.minimumBattery ?? settings.minimumBattery).rounded())
        return rules
    }

    static func check(minimumBattery: Double?, pointer: String) throws(Problem) {
        guard (0...100).contains(minimumBattery ?? 0) else {
            throw .invalid("A battery level must be between 0 and 100 percent.", pointer: pointer)
        }
    }
}
