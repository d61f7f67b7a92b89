import NightshiftAPI

/// A converter of NetworkManager's properties to values.
enum NetworkManagerReading {
    static func values(_ properties: [String: BusValue]) -> (values: [DeviceKey: String], oddities: [String]) {
        var reader = PropertyReader(properties)
        var values: [DeviceKey: String] = [:]
        if let state = reader.integer("State", in: 0...70), let isConnected = isConnected(state: state) {
            values[.network] = isConnected ? "yes" : "no"
        }
        if let state = reader.integer("Connectivity", in: 0...4) {
            values[.connectivity] = connectivity[Int(state)].rawValue
        }
        let kind = reader.text("PrimaryConnectionType").map(kind)
        if let kind { values[.interface] = kind.rawValue }
        if let isExpensive = isExpensive(metered: reader.integer("Metered", in: 0...4), kind: kind) {
            values[.expensive] = isExpensive ? "yes" : "no"
        }
        if let path = reader.text("PrimaryConnection") { values[.networkName] = name(path) }
        return (values, reader.oddities)
    }

    /// Returns whether an NMState means connected: 50 (local), 60 (site) and 70 (global) do, and values up to 40 do
    /// not. For 0 (unknown), returns nil.
    static func isConnected(state: Int64) -> Bool? {
        state > 0 ? state >= 50 : nil
    }

    /// The values of NMConnectivityState, in order.
    private static let connectivity: [NetworkConnectivity] = [.unknown, .none, .portal, .limited, .full]

    /// Returns whether a network is metered, from an NMMetered value: 1 and 3 (a guess) mean yes, 2 and 4 (a guess)
    /// mean no, 0 is unknown. A mobile network counts as not metered only if it was configured so.
    private static func isExpensive(metered: Int64?, kind: NetworkKind?) -> Bool? {
        switch metered {
        case 1, 3: true
        case 2: false
        case 4: kind == .cellular
        default: kind == .cellular ? true : nil
        }
    }

    /// Returns the kind of a connection from its setting name (nm-settings(5)).
    static func kind(_ type: String) -> NetworkKind {
        switch type {
        case "802-3-ethernet", "pppoe", "infiniband", "bond", "bridge", "team", "vlan": .wired
        case "802-11-wireless", "802-11-olpc-mesh", "wifi-p2p": .wifi
        case "gsm", "cdma", "wimax": .cellular
        case "bluetooth": .bluetooth
        case "vpn", "wireguard", "tun", "ip-tunnel": .vpn
        default: .other
        }
    }

    /// Returns a name for a connection's path. A connection gets a new path each time it is made, so the path
    /// distinguishes a network from an earlier one with the same name. The path "/" means no connection.
    private static func name(_ path: String) -> String {
        let prefix = "/org/freedesktop/NetworkManager/ActiveConnection/"
        if path == "/" || path.isEmpty { return "none" }
        return path.hasPrefix(prefix) ? "connection \(path.dropFirst(prefix.count))" : path
    }
}
