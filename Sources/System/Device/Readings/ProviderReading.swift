import NightshiftAPI

/// The values from one source.
struct ProviderReading: Equatable, Sendable {
    var source: DeviceValue.Source
    var isPresent: Bool
    /// The values by their keys, in the text form of each key.
    var values: [DeviceKey: String] = [:]
    /// The reasons why the source is missing, or why some of its values were rejected.
    var oddities: [String] = []

    var provider: DeviceProvider {
        // Each problem is listed once, because several objects of one service often have the same problem.
        let told = oddities.enumerated().filter { !oddities[..<$0.offset].contains($0.element) }.map(\.element)
        return DeviceProvider(
            name: source, isPresent: isPresent, detail: told.isEmpty ? nil : told.joined(separator: "; "))
    }

    static func absent(_ source: DeviceValue.Source, _ why: String) -> ProviderReading {
        ProviderReading(source: source, isPresent: false, oddities: [why])
    }
}

/// A reader of values from properties, which records the values that it rejects.
struct PropertyReader {
    let properties: [String: BusValue]
    private(set) var oddities: [String] = []

    /// The maximum length in bytes of a text that is accepted. Names of networks and profiles are much shorter.
    static let longestText = 256

    init(_ properties: [String: BusValue]) {
        self.properties = properties
    }

    mutating func truth(_ name: String) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .truth(let truth) = value else { return refuse(name, value, "yes or no") }
        return truth
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .integer(let integer) = value, range.contains(integer) else {
            return refuse(name, value, "\(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) -> Double? {
        guard let value = value(name) else { return nil }
        let number: Double? =
            switch value {
            case .number(let number): number
            case .integer(let integer): Double(integer)
            case .truth, .text, .other: nil
            }
        guard let number, range.contains(number) else {
            return refuse(name, value, "\(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func text(_ name: String) -> String? {
        guard let value = value(name) else { return nil }
        guard case .text(let text) = value, text.utf8.count <= Self.longestText else {
            return refuse(name, value, "a text of at most \(Self.longestText) bytes")
        }
        return text
    }

    /// Records a value that has the right type but is not valid, and returns nil.
    mutating func refuse<Value>(_ name: String, _ expected: String) -> Value? {
        properties[name].flatMap { refuse(name, $0, expected) }
    }

    private mutating func value(_ name: String) -> BusValue? {
        if let value = properties[name] { return value }
        oddities.append("\(name) is missing")
        return nil
    }

    private mutating func refuse<Value>(_ name: String, _ value: BusValue, _ expected: String) -> Value? {
        oddities.append("\(name) is \(value.phrase), not \(expected)")
        return nil
    }
}
