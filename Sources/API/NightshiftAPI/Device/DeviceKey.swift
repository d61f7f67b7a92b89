/// A key of one device condition. Listings, overrides and traces use these keys.
package enum DeviceKey: String, Sendable, Codable, CaseIterable, CodingKeyRepresentable {
    case power
    case battery
    case warning
    case lowPower
    case network
    case connectivity
    case interface
    case expensive
    case constrained
    case networkName
    case idle
    case sleeping
    case freeBytes
    /// The location of the device. No decision waits for it. It is private, so no response, journal entry or log shows
    /// it.
    case location

    /// The keys of ``DeviceConditions``, which every client may read.
    package static let conditions = allCases.filter { $0 != .location }

    /// The text that replaces an overridden location in responses.
    package static let hiddenPlace = "set"

    /// A description of the valid values.
    package var grammar: String {
        switch self {
        case .power: "external or battery"
        case .battery: "a percentage from 0 to 100, or none"
        case .warning: Self.words(BatteryWarning.self)
        case .connectivity: Self.words(NetworkConnectivity.self)
        case .interface: Self.words(NetworkKind.self)
        case .networkName: "any text, or none"
        case .freeBytes: "a number of bytes, or none"
        case .location: "latitude,longitude in degrees, optionally followed by ,accuracy in metres, or none"
        case .lowPower, .network, .expensive, .constrained, .idle, .sleeping: "yes or no"
        }
    }

    private static func words<Word: CaseIterable & RawRepresentable<String>>(_ type: Word.Type) -> String {
        type.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

extension DeviceConditions {
    /// The value as text, in the form that ``set(_:to:)`` accepts. The location is not part of the conditions, so its
    /// value is always `none`.
    package subscript(key: DeviceKey) -> String {
        switch key {
        case .power: power.rawValue
        case .battery: batteryPercentage.map { Self.number($0) } ?? "none"
        case .warning: batteryWarning.rawValue
        case .lowPower: Self.word(isLowPower)
        case .network: Self.word(network.isAvailable)
        case .connectivity: network.connectivity.rawValue
        case .interface: network.kind.rawValue
        case .expensive: Self.word(network.isExpensive)
        case .constrained: Self.word(network.isConstrained)
        case .networkName: network.name ?? "none"
        case .idle: Self.word(isIdle)
        case .sleeping: Self.word(isSleeping)
        case .freeBytes: freeBytes.map(String.init) ?? "none"
        case .location: "none"
        }
    }

    /// Sets the value of `key`. Returns false and changes nothing if `text` is not valid. A location is checked but not
    /// stored.
    package mutating func set(_ key: DeviceKey, to text: String) -> Bool {
        switch key {
        case .power: return assign(PowerSource(rawValue: text), to: \.power)
        case .battery:
            if text == "none" { return assign(.some(nil), to: \.batteryPercentage) }
            guard let value = Double(text), (0...100).contains(value) else { return false }
            return assign(value, to: \.batteryPercentage)
        case .warning: return assign(BatteryWarning(rawValue: text), to: \.batteryWarning)
        case .lowPower: return assign(Self.truth(text), to: \.isLowPower)
        case .network: return assign(Self.truth(text), to: \.network.isAvailable)
        case .connectivity: return assign(NetworkConnectivity(rawValue: text), to: \.network.connectivity)
        case .interface: return assign(NetworkKind(rawValue: text), to: \.network.kind)
        case .expensive: return assign(Self.truth(text), to: \.network.isExpensive)
        case .constrained: return assign(Self.truth(text), to: \.network.isConstrained)
        case .networkName: return assign(.some(text == "none" ? nil : text), to: \.network.name)
        case .idle: return assign(Self.truth(text), to: \.isIdle)
        case .sleeping: return assign(Self.truth(text), to: \.isSleeping)
        case .freeBytes:
            if text == "none" { return assign(.some(nil), to: \.freeBytes) }
            guard let value = Int64(text), value >= 0 else { return false }
            return assign(value, to: \.freeBytes)
        case .location: return text == "none" || LocationOverride(text) != nil
        }
    }

    /// Returns the keys whose values differ.
    package func differences(from other: DeviceConditions) -> [DeviceKey] {
        DeviceKey.conditions.filter { self[$0] != other[$0] }
    }

    private mutating func assign<Value>(
        _ value: Value?, to path: WritableKeyPath<DeviceConditions, Value>
    ) -> Bool {
        guard let value else { return false }
        self[keyPath: path] = value
        return true
    }

    private static func word(_ truth: Bool) -> String { truth ? "yes" : "no" }

    private static func truth(_ text: String) -> Bool? {
        switch text {
        case "yes", "true", "on": true
        case "no", "false", "off": false
        default: nil
        }
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int64(saturating: value)) : String(value)
    }
}
