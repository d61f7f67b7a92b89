import Foundation

/// An error in a trace, without its line number: the actual value and the expected value.
struct TraceMistake: Error, Hashable, CustomStringConvertible {
    var message: String
    var description: String { message }

    init(_ message: String) {
        self.message = message
    }

    static func unknown(_ name: String, among names: [String], in place: String) -> TraceMistake {
        TraceMistake("\(place) has no key '\(name)'; its keys are \(names.joined(separator: ", "))")
    }
}

/// A coding key with any name.
struct TraceKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}

/// A JSON object of a trace. It allows only known keys, and only values in their range.
struct TraceObject<Key: CodingKey & CaseIterable & RawRepresentable> where Key.RawValue == String {
    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder, keys: Key.Type) throws {
        let names = Key.allCases.map(\.rawValue)
        let place = decoder.codingPath.last.map { "'\($0.stringValue)'" } ?? "a line"
        guard let all = try? decoder.container(keyedBy: TraceKey.self) else {
            throw TraceMistake("\(place) must be a JSON object with the keys \(names.joined(separator: ", "))")
        }
        let unknown = all.allKeys.map(\.stringValue).filter { Key(rawValue: $0) == nil }.min()
        if let unknown { throw TraceMistake.unknown(unknown, among: names, in: place) }
        container = try decoder.container(keyedBy: Key.self)
    }

    func object<Value: Decodable>(_ key: Key) throws -> Value? {
        guard container.contains(key) else { return nil }
        return try container.decode(Value.self, forKey: key)
    }

    /// Returns the value as text.
    func value(_ key: Key) throws -> TraceText? {
        container.contains(key) ? try container.decode(TraceText.self, forKey: key) : nil
    }

    func number(_ key: Key, in range: ClosedRange<Double>) throws -> Double? {
        guard container.contains(key) else { return nil }
        guard let value = try? container.decode(Double.self, forKey: key), range.contains(value) else {
            throw TraceMistake(
                "'\(key.rawValue)' must be a number from \(text(range.lowerBound)) to \(text(range.upperBound))")
        }
        return value
    }

    func whole(_ key: Key, in range: ClosedRange<Int64>) throws -> Int64? {
        guard container.contains(key) else { return nil }
        guard let value = try? container.decode(Int64.self, forKey: key), range.contains(value) else {
            throw TraceMistake("'\(key.rawValue)' must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    func truth(_ key: Key) throws -> Bool? {
        guard container.contains(key) else { return nil }
        switch (try? container.decode(TraceText.self, forKey: key))?.text {
        case "yes": return true
        case "no": return false
        default: throw TraceMistake("'\(key.rawValue)' must be true or false")
        }
    }

    func text(_ key: Key, limit: Int) throws -> String? {
        guard container.contains(key) else { return nil }
        guard let value = try? container.decode(String.self, forKey: key), value.utf8.count <= limit else {
            throw TraceMistake("'\(key.rawValue)' must be a string of at most \(limit) bytes")
        }
        return value
    }

    func word<Word: RawRepresentable & CaseIterable>(_ key: Key, as type: Word.Type) throws -> Word?
    where Word.RawValue == String {
        guard container.contains(key) else { return nil }
        guard let word = (try? container.decode(String.self, forKey: key)).flatMap(Word.init(rawValue:)) else {
            let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw TraceMistake("'\(key.rawValue)' must be one of \(words)")
        }
        return word
    }

    func policy(_ key: Key) throws -> BackgroundPolicy? {
        guard container.contains(key) else { return nil }
        guard let policy = (try? container.decode(String.self, forKey: key)).flatMap({ BackgroundPolicy($0) }) else {
            throw TraceMistake(
                "'\(key.rawValue)' must be contiguous or opportunistic, optionally followed by :SECONDS (10 to 3600)")
        }
        return policy
    }

    private func text(_ value: Double) -> String {
        value == value.rounded() ? String(Int64(saturating: value)) : String(value)
    }
}

/// A JSON value as text: `true` is "yes", and `null` is "none". Decoding an object or an array gives nil.
struct TraceText: Decodable {
    var text: String?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            text = "none"
        } else if let truth = try? container.decode(Bool.self) {
            text = truth ? "yes" : "no"
        } else if let whole = try? container.decode(Int64.self) {
            text = String(whole)
        } else if let number = try? container.decode(Double.self) {
            text = String(number)
        } else {
            text = try? container.decode(String.self)
        }
    }
}

/// A time in a trace: seconds since its start, or `[DAYSd ]HH:MM[:SS]`.
struct TraceMoment: Decodable {
    var seconds: Double

    /// The latest time in seconds, one year. Longer traces are not useful, and with this limit sums of times stay
    /// exact.
    static let latest: Double = 31_622_400

    init(seconds: Double) {
        self.seconds = seconds
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(TraceText.self).text ?? ""
        guard let seconds = Double(text) ?? Self.seconds(text), seconds.isFinite else {
            throw TraceMistake(
                "'at' must be seconds since the start of the trace, or a time such as 07:30, 07:30:15 or '1d 07:30'")
        }
        guard (0...Self.latest).contains(seconds) else {
            throw TraceMistake(
                "'at' must be 0 to \(Int64(saturating: Self.latest)) seconds (366 days) from the start, not \(text)"
            )
        }
        // Times are rounded to milliseconds, because the output shows no more.
        self.seconds = (seconds * 1_000).rounded() / 1_000
    }

    private static func seconds(_ text: String) -> Double? {
        let words = text.split(separator: " ")
        guard let clock = words.last, words.count <= 2 else { return nil }
        var days = 0
        if words.count == 2 {
            guard words[0].hasSuffix("d"), let count = Int(words[0].dropLast()), count >= 0 else { return nil }
            days = count
        }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard (2...3).contains(parts.count), let hours = parts[0], let minutes = parts[1], (0..<24).contains(hours),
            (0..<60).contains(minutes), let seconds = parts.count == 3 ? parts[2] : 0, (0..<60).contains(seconds),
            days < 400
        else { return nil }
        return Double(days * 86_400 + hours * 3_600 + minutes * 60 + seconds)
    }
}
