import NightshiftAPI

/// A converter of UPower's properties to values.
enum UPowerReading {
    static func power(_ properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        var reader = PropertyReader(properties)
        var values: [DeviceKey: String] = [:]
        if let isOnBattery = reader.truth("OnBattery") {
            values[.power] = (isOnBattery ? PowerSource.battery : .external).rawValue
        }
        return (values, reader.oddities)
    }

    static func battery(_ properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        var reader = PropertyReader(properties)
        // UpDeviceKind currently has values up to 28. Larger values are accepted for later versions.
        guard let isPresent = reader.truth("IsPresent"), let kind = reader.integer("Type", in: 0...255) else {
            return ([:], reader.oddities)
        }
        // UpDeviceKind 2 is a battery, and 3 is an uninterruptible power supply. Other devices have no battery warning.
        guard isPresent, kind == 2 || kind == 3 else {
            return ([.battery: "none", .warning: BatteryWarning.none.rawValue], [])
        }
        var values: [DeviceKey: String] = [:]
        if let percentage = reader.number("Percentage", in: 0...100) { values[.battery] = String(percentage) }
        if let level = reader.integer("WarningLevel", in: 0...5), let warning = warning(level) {
            values[.warning] = warning.rawValue
        }
        return (values, reader.oddities)
    }

    /// Returns the warning for an UpDeviceLevel. The level 0 means unknown.
    private static func warning(_ level: Int64) -> BatteryWarning? {
        switch level {
        case 1: BatteryWarning.none
        case 2: .discharging
        case 3: .low
        case 4: .critical
        case 5: .action
        default: nil
        }
    }
}

/// A converter of power-profiles-daemon's properties to values.
enum PowerProfilesReading {
    static func values(_ properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        var reader = PropertyReader(properties)
        guard let profile = reader.text("ActiveProfile") else { return ([:], reader.oddities) }
        switch profile {
        case "power-saver": return ([.lowPower: "yes"], [])
        case "balanced", "performance": return ([.lowPower: "no"], [])
        default:
            let _: String? = reader.refuse("ActiveProfile", "power-saver, balanced or performance")
            return ([:], reader.oddities)
        }
    }
}

/// A converter of logind's properties to values.
enum LogindReading {
    static func values(_ properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        var reader = PropertyReader(properties)
        var values: [DeviceKey: String] = [:]
        if let isIdle = reader.truth("IdleHint") { values[.idle] = isIdle ? "yes" : "no" }
        if let sleeps = reader.truth("PreparingForSleep") { values[.sleeping] = sleeps ? "yes" : "no" }
        // Some versions of logind do not report this property.
        if properties["OnExternalPower"] != nil, let isExternal = reader.truth("OnExternalPower") {
            values[.power] = (isExternal ? PowerSource.external : .battery).rawValue
        }
        return (values, reader.oddities)
    }
}
