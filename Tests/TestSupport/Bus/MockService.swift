import Foundation

/// A service on a ``PrivateBus``, mocked by python3-dbusmock.
///
/// It ends with ``stop()``, with this object, or with this process.
package final class MockService: Sendable {
    package let bus: PrivateBus
    package let kind: Kind
    private let process: ChildProcess

    /// The services for which there are templates or descriptions.
    package enum Kind: Sendable, Hashable {
        case upower
        case powerProfiles
        /// The power-profiles-daemon under its newer name. It has no properties until they are added.
        case newerPowerProfiles
        case networkManager
        case logind
        /// A logind without methods. It has no properties until they are added.
        case bareLogind
        /// A notification server that shows no notifications and records the calls to it.
        case notifications
        /// The service that shows badges. It has no methods and only exists on the bus.
        case dock

        /// The services for which dbusmock has templates.
        package static let templates: [Kind] = [.upower, .powerProfiles, .networkManager, .logind]

        package var name: String {
            switch self {
            case .upower: "org.freedesktop.UPower"
            case .powerProfiles: "net.hadess.PowerProfiles"
            case .newerPowerProfiles: "org.freedesktop.UPower.PowerProfiles"
            case .networkManager: "org.freedesktop.NetworkManager"
            case .logind, .bareLogind: "org.freedesktop.login1"
            case .notifications: "org.freedesktop.Notifications"
            case .dock: "com.canonical.Unity"
            }
        }

        package var path: String { "/" + name.replacing(".", with: "/") }

        package var interface: String {
            switch self {
            case .logind, .bareLogind: "\(name).Manager"
            case .upower, .powerProfiles, .newerPowerProfiles, .networkManager, .notifications, .dock: name
            }
        }

        fileprivate var arguments: [String] {
            switch self {
            case .upower: ["--template", "upower"]
            case .powerProfiles: ["--template", "power_profiles_daemon"]
            case .newerPowerProfiles, .bareLogind: ["--system", name, path, interface]
            case .networkManager: ["--template", "networkmanager"]
            case .logind: ["--template", "logind"]
            case .notifications: ["--template", "notification_daemon"]
            case .dock: [name, path, interface]
            }
        }
    }

    /// Starts the service. Returns when it responds. `parameters` are those of the template, as JSON.
    package init(_ kind: Kind, on bus: PrivateBus, parameters: String? = nil) async throws {
        self.bus = bus
        self.kind = kind
        var environment = ProcessInfo.processInfo.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        // This is the system's own Python, which has the package python3-dbusmock.
        process = try ChildProcess(
            "/usr/bin/python3",
            arguments: ["-m", "dbusmock"] + kind.arguments + (parameters.map { ["--parameters", $0] } ?? []),
            environment: environment, errors: .inherit)
        try await eventually("dbusmock's \(kind), of Debian's package python3-dbusmock") {
            if let exit = process.exit { throw CannotRun("dbusmock", ended: exit) }
            // This call succeeds only once the template is loaded.
            return (try? await call("org.freedesktop.DBus.Mock", "GetCalls")) != nil
        }
    }

    deinit {
        stop()
    }

    package func stop() {
        process.stop(SIGKILL)
    }

    /// Stops the service, so that it keeps its name but does not respond, or lets it continue.
    package func freeze(_ isFrozen: Bool) {
        process.kill(isFrozen ? SIGSTOP : SIGCONT)
    }

    /// Calls a method of the service's main object; see ``PrivateBus/call(_:_:_:_:_:)``.
    @discardableResult
    package func call(_ interface: String, _ method: String, _ arguments: [String] = []) async throws -> String {
        try await bus.call(kind.name, kind.path, interface, method, arguments)
    }

    /// Changes existing properties and announces the change. The values consist of a signature and a value:
    /// `["OnBattery": "b true"]`. dbusmock cannot announce object paths.
    package func set(_ properties: [String: String], path: String? = nil, interface: String? = nil) async throws {
        let values = properties.flatMap { name, value in
            [name] + value.split(separator: " ", maxSplits: 1).map(String.init)
        }
        try await bus.call(
            kind.name, path ?? kind.path, "org.freedesktop.DBus.Mock", "UpdateProperties",
            ["sa{sv}", interface ?? kind.interface, String(properties.count)] + values)
    }

    /// Changes existing properties without a signal, as some services do. The values consist of a signature and a
    /// value.
    package func setUnannounced(_ properties: [String: String]) async throws {
        try await call(
            "org.freedesktop.DBus.Mock", "AddMethod",
            ["sssss", "", "SetUnannounced", "sv", "", "self.props['\(kind.interface)'][args[0]] = args[1]"])
        for (name, value) in properties {
            try await call(
                kind.interface, "SetUnannounced",
                ["sv", name] + value.split(separator: " ", maxSplits: 1).map(String.init))
        }
    }

    /// Adds properties without a signal.
    package func add(_ properties: [String: String]) async throws {
        for (name, value) in properties {
            try await call(
                "org.freedesktop.DBus.Mock", "AddProperty",
                ["ssv", kind.interface, name] + value.split(separator: " ", maxSplits: 1).map(String.init))
        }
    }

    /// Sends a signal of the service's main interface with values such as `b true`.
    package func emit(_ signal: String, _ values: String...) async throws {
        let words = values.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        try await call(
            "org.freedesktop.DBus.Mock", "EmitSignal",
            ["sssav", kind.interface, signal, words.map { $0[0] }.joined(), "\(words.count)"] + words.flatMap(\.self))
    }

    /// Returns the calls to a method of the service's main object so far, as busctl(1) prints them.
    package func calls(of method: String) async throws -> String {
        try await call("org.freedesktop.DBus.Mock", "GetMethodCalls", ["s", method])
    }
}
