import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests with every service mocked by dbusmock, on a private bus.
@Suite(.timeLimit(.minutes(20))) struct ProviderTests {
    @Test func `A machine without services counts as plugged in and in use`() async throws {
        let bus = try await PrivateBus.started()
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        for key in [DeviceKey.power, .battery, .warning, .lowPower, .connectivity, .idle, .sleeping, .constrained] {
            #expect(device[key] == DeviceConditions()[key])
            #expect(device.source(key) == .assumed)
        }
        #expect(device.monitor.report.values.map(\.key) == DeviceKey.conditions)
        for name in [DeviceValue.Source.upower, .powerProfiles, .networkManager, .logind] {
            #expect(device.provider(name) == DeviceProvider(name: name, isPresent: false, detail: "not running"))
        }
        #expect(device.provider(.kernel) == DeviceProvider(name: .kernel, isPresent: true))
        #expect(device.source(.network) == .kernel)
        #expect(device.source(.freeBytes) == .kernel)
        #expect(try #require(device.monitor.report.conditions.freeBytes) > 0)
    }

    @Test func `UPower reports the power source and the battery`() async throws {
        let bus = try await PrivateBus.started()
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        #expect(device.provider(.upower) == DeviceProvider(name: .upower, isPresent: true))
        #expect(device[.power] == "battery" && device.source(.power) == .upower)
        #expect(device[.battery] == "none" && device.source(.battery) == .upower)

        try await upower.setBattery(["Type": "u 2", "IsPresent": "b true", "Percentage": "d 42.5"])
        try await device.wait(.battery, is: "42.5", from: .upower)
        try await upower.setBattery(["WarningLevel": "u 3"])
        try await device.wait(.warning, is: "low", from: .upower)
        try await upower.set(["OnBattery": "b false"])
        try await device.wait(.power, is: "external", from: .upower)
    }

    @Test(arguments: [MockService.Kind.powerProfiles, .newerPowerProfiles])
    func `The power profiles service reports the power-saver mode`(_ kind: MockService.Kind) async throws {
        let bus = try await PrivateBus.started()
        let profiles = try await MockService(kind, on: bus)
        if kind == .newerPowerProfiles { try await profiles.add(["ActiveProfile": "s balanced"]) }
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        #expect(device[.lowPower] == "no" && device.source(.lowPower) == .powerProfiles)
        try await profiles.set(["ActiveProfile": "s power-saver"])
        try await device.wait(.lowPower, is: "yes", from: .powerProfiles)
        try await profiles.set(["ActiveProfile": "s performance"])
        try await device.wait(.lowPower, is: "no", from: .powerProfiles)
    }

    @Test func `NetworkManager reports the network`() async throws {
        let bus = try await PrivateBus.started()
        let manager = try await MockService(.networkManager, on: bus)
        try await manager.add([
            "Metered": "u 4", "PrimaryConnection": "o /org/freedesktop/NetworkManager/ActiveConnection/1",
            "PrimaryConnectionType": "s 802-11-wireless",
        ])
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        #expect(device.provider(.networkManager) == DeviceProvider(name: .networkManager, isPresent: true))
        for (key, value) in [
            DeviceKey.network: "yes", .connectivity: "full", .interface: "wifi", .expensive: "no",
            .networkName: "connection 1",
        ] {
            #expect(device[key] == value)
            #expect(device.source(key) == .networkManager)
        }

        try await manager.set(["Metered": "u 3"])
        try await device.wait(.expensive, is: "yes", from: .networkManager)
        try await manager.set([
            "PrimaryConnection": "s /org/freedesktop/NetworkManager/ActiveConnection/2",
            "PrimaryConnectionType": "s gsm", "Metered": "u 0",
        ])
        try await device.wait(.networkName, is: "connection 2", from: .networkManager)
        #expect(device[.interface] == "cellular" && device[.expensive] == "yes")
        try await manager.set(["State": "u 20", "Connectivity": "u 1", "PrimaryConnection": "s /"])
        try await device.wait(.network, is: "no", from: .networkManager)
        #expect(device[.connectivity] == "none" && device[.networkName] == "none")
    }

    @Test(.enabled(if: defaultInterface != nil, "a default route is needed"))
    func `The kernel reports an interface that NetworkManager does not manage`() async throws {
        let interface = try #require(Self.defaultInterface)
        let bus = try await PrivateBus.started()
        let manager = try await MockService(.networkManager, on: bus)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        // The state is NM_DEVICE_STATE_UNMANAGED.
        try await manager.call("org.freedesktop.DBus.Mock", "AddEthernetDevice", ["ssi", "mock", interface, "10"])
        try await manager.set(["State": "u 20", "Connectivity": "u 1"])
        try await device.wait(.networkManager, isPresent: true, detail: "it does not manage \(interface)")
        #expect(device[.network] == "yes" && device.source(.network) == .kernel)
        #expect(device.source(.connectivity) == .assumed)
        try await manager.set(["State": "u 70", "Connectivity": "u 4"])
        try await device.wait(.connectivity, is: "full", from: .networkManager)
        #expect(device.source(.network) == .networkManager)
    }

    private static let defaultInterface = KernelReading.now(freeSpaceOf: "/").interface

    @Test func `The login manager reports idleness and sleep`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus, parameters: #"{"IdleHint": true}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        #expect(device.provider(.logind) == DeviceProvider(name: .logind, isPresent: true))
        #expect(device[.idle] == "yes" && device.source(.idle) == .logind)
        #expect(device[.sleeping] == "no" && device.source(.sleeping) == .logind)
        try await logind.set(["IdleHint": "b false"])
        try await device.wait(.idle, is: "no", from: .logind)
        try await logind.emit("PrepareForSleep", "b true")
        try await device.wait(.sleeping, is: "yes", from: .logind)
        try await logind.emit("PrepareForSleep", "b false")
        try await device.wait(.sleeping, is: "no", from: .logind)
        #expect(device.monitor.report.conditions.sleeps >= 1)
    }

    @Test func `The login manager reports the power source while UPower is missing`() async throws {
        let bus = try await PrivateBus.started()
        let logind = try await MockService(.logind, on: bus)
        try await logind.add(["OnExternalPower": "b false"])
        let device = try WatchedMonitor(on: bus)
        try await device.wait(.power, is: "battery", from: .logind)
        let upower = try await MockService(.upower, on: bus)
        try await device.wait(.power, is: "external", from: .upower)
        upower.stop()
        try await device.wait(.power, is: "battery", from: .logind)
    }

    @Test(arguments: MockService.Kind.templates)
    func `A service that stops and returns is used again`(_ kind: MockService.Kind) async throws {
        let bus = try await PrivateBus.started()
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        for _ in 1...2 {
            let service = try await MockService(kind, on: bus, parameters: kind.telling)
            try await device.wait(kind.told.key, is: kind.told.value, from: kind.source)
            #expect(device.provider(kind.source)?.isPresent == true)
            service.stop()
            try await device.wait(kind.source, isPresent: false, detail: "not running")
            // The last values stay valid for a while.
            try await device.wait(for: "the end of its word") { report in
                !report.values.contains { $0.source == kind.source }
            }
            #expect(kind == .networkManager || device[kind.told.key] == DeviceConditions()[kind.told.key])
        }
    }

    @Test(arguments: Lie.all) func `The monitor rejects and reports an impossible value`(_ lie: Lie) async throws {
        let bus = try await PrivateBus.started()
        let service = try await MockService(lie.kind, on: bus)
        if lie.isAdded { try await service.add(lie.properties) }
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        if !lie.isAdded {
            try await service.set(lie.properties, path: lie.path, interface: lie.interface)
        }
        try await device.wait(lie.kind.source, isPresent: true, detail: lie.detail)
        #expect(device.source(lie.key) != lie.kind.source)
    }

    @Test func `The monitor accepts a value again after the service has corrected it`() async throws {
        let bus = try await PrivateBus.started()
        let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": "perhaps"}"#)
        let device = try WatchedMonitor(on: bus)
        try await device.wait(.upower, isPresent: true, detail: "OnBattery is 'perhaps', not yes or no")
        #expect(device[.power] == "external" && device.source(.power) == .assumed)
        try await upower.set(["OnBattery": "b true"])
        try await device.wait(.power, is: "battery", from: .upower)
        #expect(device.provider(.upower)?.detail == nil)
    }

    @Test(arguments: MockService.Kind.templates)
    func `A service that does not answer does not delay the values of other services`(_ kind: MockService.Kind)
        async throws
    {
        let bus = try await PrivateBus.started()
        let other = MockService.Kind.upower == kind ? MockService.Kind.logind : .upower
        let silent = try await MockService(kind, on: bus, parameters: kind.telling)
        let loud = try await MockService(other, on: bus, parameters: other.telling)
        silent.freeze(true)
        let device = try WatchedMonitor(on: bus)
        try await device.wait(other.told.key, is: other.told.value, from: other.source)
        #expect(device.source(kind.told.key) != kind.source)
        try await device.wait(kind.source, isPresent: true, detail: "there was no answer")
        #expect(device.monitor.report.isSettled)
        // The monitor accepts the late answer.
        silent.freeze(false)
        try await device.wait(kind.told.key, is: kind.told.value, from: kind.source)
        try await device.wait(for: "no reproach of \(kind)") { report in
            report.providers.contains {
                $0.name == kind.source && $0.isPresent && $0.detail?.contains("there was no answer") != true
            }
        }
        withExtendedLifetime(loud) {}
    }

    @Test func `The monitor's queries do not start any service`() async throws {
        let bus = try PrivateBus(activatable: MockService.Kind.templates.map(\.name))
        try await bus.start()
        let device = try WatchedMonitor(on: bus)
        device.monitor.holdAwake("a test")
        try await device.waitUntilSettled()
        #expect(!FileManager.default.fileExists(atPath: bus.activations))
        // This call shows that the bus would start a service on request.
        _ = try? await bus.call(
            MockService.Kind.upower.name, "/", "org.freedesktop.DBus.Peer", "Ping")
        #expect(FileManager.default.fileExists(atPath: bus.activations))
    }

    /// The bus delivers signals to their recipient, regardless of the sender.
    @Test func `The monitor ignores signals from other senders`() async throws {
        let bus = try await PrivateBus.started()
        let upower = try await MockService(.upower, on: bus)
        let impostor = try await MockService(.powerProfiles, on: bus)
        let device = try WatchedMonitor(on: bus)
        try await device.waitUntilSettled()
        let path = MockService.Kind.upower.path
        try await impostor.call("org.freedesktop.DBus.Mock", "AddObject", ["ssa{sv}a(ssss)", path, "a.b", "0", "0"])
        for name in try await bus.connections() {
            try await bus.call(
                impostor.kind.name, path, "org.freedesktop.DBus.Mock", "EmitSignalDetailed",
                [
                    "sssava{sv}", "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", "3",
                    "s", "org.freedesktop.UPower", "a{sv}", "1", "OnBattery", "b", "true", "as", "0",
                    "1", "destination", "s", name,
                ])
        }
        // Any later event shows that the earlier ones were received.
        try await impostor.set(["ActiveProfile": "s power-saver"])
        try await device.wait(.lowPower, is: "yes", from: .powerProfiles)
        #expect(device[.power] == "external")
        try await upower.set(["OnBattery": "b true"])
        try await device.wait(.power, is: "battery", from: .upower)
    }
}

/// An invalid value that a service reports.
struct Lie: Sendable, CustomTestStringConvertible {
    var kind: MockService.Kind
    var properties: [String: String]
    var key: DeviceKey
    var detail: String
    var path: String?
    var interface: String?
    /// Whether the property has to be added, because the mock does not have it.
    var isAdded = false

    var testDescription: String { "\(kind) \(properties)" }

    private static func battery(_ properties: [String: String], _ key: DeviceKey, _ detail: String) -> Lie {
        let present = ["Type": "u 2", "IsPresent": "b true", "Percentage": "d 50"]
        return Lie(
            kind: .upower, properties: present.merging(properties) { $1 }, key: key, detail: detail,
            path: MockService.batteryPath, interface: MockService.batteryInterface)
    }

    static let all = [
        battery(["Percentage": "d 250"], .battery, "Percentage is 250.0, not 0.0 to 100.0"),
        battery(["Percentage": "d nan"], .battery, "Percentage is nan"),
        battery(["Percentage": "s full"], .battery, "Percentage is 'full'"),
        battery(["WarningLevel": "u 77"], .warning, "WarningLevel is 77"),
        battery(["IsPresent": "as 0"], .battery, "IsPresent is of type as"),
        Lie(kind: .upower, properties: ["OnBattery": "i 1"], key: .power, detail: "OnBattery is 1"),
        Lie(
            kind: .powerProfiles, properties: ["ActiveProfile": "s turbo"], key: .lowPower,
            detail: "ActiveProfile is 'turbo'"),
        Lie(kind: .logind, properties: ["IdleHint": "s yes"], key: .idle, detail: "IdleHint is 'yes'"),
        Lie(kind: .networkManager, properties: ["State": "u 4711"], key: .network, detail: "State is 4711"),
        Lie(
            kind: .networkManager, properties: ["Connectivity": "u 9"], key: .connectivity, detail: "Connectivity is 9"),
        Lie(
            kind: .networkManager, properties: ["Metered": "b true"], key: .expensive, detail: "Metered is yes",
            isAdded: true),
        Lie(
            kind: .networkManager, properties: ["PrimaryConnection": "u 7"], key: .networkName,
            detail: "PrimaryConnection is 7", isAdded: true),
    ]
}

extension MockService {
    static let batteryPath = "/org/freedesktop/UPower/devices/DisplayDevice"
    static let batteryInterface = "org.freedesktop.UPower.Device"

    func setBattery(_ properties: [String: String]) async throws {
        try await set(properties, path: Self.batteryPath, interface: Self.batteryInterface)
    }
}

extension MockService.Kind {
    var source: DeviceValue.Source {
        switch self {
        case .upower: .upower
        case .powerProfiles, .newerPowerProfiles: .powerProfiles
        case .networkManager: .networkManager
        case .logind, .bareLogind: .logind
        case .notifications, .dock: preconditionFailure("It says nothing of the device.")
        }
    }

    /// The mock parameters with which the service reports a value other than the assumed one.
    var telling: String {
        switch self {
        case .upower: #"{"OnBattery": true}"#
        case .powerProfiles, .newerPowerProfiles: #"{"ActiveProfile": "power-saver"}"#
        case .networkManager: #"{"Connectivity": 2}"#
        case .logind, .bareLogind: #"{"IdleHint": true}"#
        case .notifications, .dock: preconditionFailure("It says nothing of the device.")
        }
    }

    /// The value that the service then reports.
    var told: (key: DeviceKey, value: String) {
        switch self {
        case .upower: (.power, "battery")
        case .powerProfiles, .newerPowerProfiles: (.lowPower, "yes")
        case .networkManager: (.connectivity, "portal")
        case .logind, .bareLogind: (.idle, "yes")
        case .notifications, .dock: preconditionFailure("It says nothing of the device.")
        }
    }
}

extension PrivateBus {
    /// Returns the unique names of all connections.
    func connections() async throws -> [String] {
        try await call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames")
            .split(separator: "\"").map(String.init).filter { $0.hasPrefix(":") }
    }
}
