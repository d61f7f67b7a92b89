package import Foundation

/// The one way JSON is written and read: RFC 3339 times in UTC with milliseconds, sorted keys, plain slashes.
package enum JSON {
    package static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            // The style cuts off what is left of a millisecond, and a whole one is often a trifle less in binary.
            let moment = date.addingTimeInterval(0.000_1)
            // A time that nobody could read would take the whole answer with it, the list of all tasks for one.
            try container.encode(min(Timestamp.last, max(Timestamp.first, moment)).formatted(style))
        }
        return try encoder.encode(value)
    }

    package static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            if let date = Timestamp.date(text) { return date }
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "'\(text)' is not a time such as 2026-11-21T06:00:00Z.")
        }
        return try decoder.decode(type, from: data)
    }

    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}
