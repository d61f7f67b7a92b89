import NightshiftAPI

/// The services on the system bus that tell of the device, by their names there.
enum BusService: String, Sendable, CaseIterable {
    case upower = "org.freedesktop.UPower"
    case powerProfiles = "org.freedesktop.UPower.PowerProfiles"
    /// What power-profiles-daemon was called up to version 0.13; it still answers to it.
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

/// The objects whose properties are followed.
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
        // UPower's own sum of all batteries that power the machine.
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

    /// The properties that matter; others are not kept.
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
