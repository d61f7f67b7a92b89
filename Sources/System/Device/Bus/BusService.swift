import NightshiftAPI

/// The services on the system bus that report device conditions, by their bus names.
enum BusService: String, Sendable, CaseIterable {
    case upower = "org.freedesktop.UPower"
    case powerProfiles = "org.freedesktop.UPower.PowerProfiles"
    /// The bus name of power-profiles-daemon up to version 0.13. Later versions still use it too.
    case hadessPowerProfiles = "net.hadess.PowerProfiles"
    case networkManager = "org.freedesktop.NetworkManager"
    case logind = "org.freedesktop.login1"

    var source: DeviceValue.Source {
        switch self {
        case .upower: .upower
        case .powerProfiles, .hadessPowerProfiles: .powerProfiles
        case .networkManager: .networkManager
        case .logind: .logind
        }
    }

    var objects: [BusObject] { BusObject.allCases.filter { $0.service == self } }
}

/// The objects on the bus whose properties the service follows.
enum BusObject: Sendable, CaseIterable {
    case upower
    case displayDevice
    case powerProfiles
    case hadessPowerProfiles
    case networkManager
    case logind

    var service: BusService {
        switch self {
        case .upower, .displayDevice: .upower
        case .powerProfiles: .powerProfiles
        case .hadessPowerProfiles: .hadessPowerProfiles
        case .networkManager: .networkManager
        case .logind: .logind
        }
    }

    var path: String {
        switch self {
        case .upower: "/org/freedesktop/UPower"
        // This is UPower's combination of all batteries that power the machine.
        case .displayDevice: "/org/freedesktop/UPower/devices/DisplayDevice"
        case .powerProfiles: "/org/freedesktop/UPower/PowerProfiles"
        case .hadessPowerProfiles: "/net/hadess/PowerProfiles"
        case .networkManager: "/org/freedesktop/NetworkManager"
        case .logind: "/org/freedesktop/login1"
        }
    }

    var interface: String {
        switch self {
        case .upower: "org.freedesktop.UPower"
        case .displayDevice: "org.freedesktop.UPower.Device"
        case .powerProfiles: "org.freedesktop.UPower.PowerProfiles"
        case .hadessPowerProfiles: "net.hadess.PowerProfiles"
        case .networkManager: "org.freedesktop.NetworkManager"
        case .logind: "org.freedesktop.login1.Manager"
        }
    }

    /// The names of the properties that are used. All others are ignored.
    var properties: Set<String> {
        switch self {
        case .upower: ["OnBattery"]
        case .displayDevice: ["Type", "IsPresent", "Percentage", "WarningLevel"]
        case .powerProfiles, .hadessPowerProfiles: ["ActiveProfile"]
        case .networkManager: ["State", "Connectivity", "Metered", "PrimaryConnection", "PrimaryConnectionType"]
        case .logind: ["IdleHint", "PreparingForSleep", "OnExternalPower"]
        }
    }
}
