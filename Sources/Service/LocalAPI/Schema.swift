import NightshiftAPI

/// The part of a JSON schema that the service needs to read requests: the allowed keys, and the descriptions of
/// expected values.
final class Schema: Decodable, Sendable {
    let properties: [String: Schema]?
    let items: Schema?
    let anyOf: [Schema]?
    let reference: String?
    let values: [String?]?
    let format: String?
    private let types: [String]

    private enum CodingKeys: String, CodingKey {
        case properties, items, anyOf, type, format
        case reference = "$ref"
        case values = "enum"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        properties = try container.decodeIfPresent([String: Schema].self, forKey: .properties)
        items = try container.decodeIfPresent(Schema.self, forKey: .items)
        anyOf = try container.decodeIfPresent([Schema].self, forKey: .anyOf)
        reference = try container.decodeIfPresent(String.self, forKey: .reference)
        values = try container.decodeIfPresent([String?].self, forKey: .values)
        format = try container.decodeIfPresent(String.self, forKey: .format)
        if let one = try? container.decode(String.self, forKey: .type) {
            types = [one]
        } else {
            types = try container.decodeIfPresent([String].self, forKey: .type) ?? []
        }
    }

    /// Returns the schema with references resolved and "or null" removed.
    func resolved(in schemas: [String: Schema]) -> Schema {
        if let reference, let name = reference.split(separator: "/").last, let schema = schemas[String(name)] {
            return schema.resolved(in: schemas)
        }
        if properties == nil, let anyOf, let choice = anyOf.first(where: { $0.reference != nil }) {
            return choice.resolved(in: schemas)
        }
        return self
    }

    /// The schema of a value without restrictions.
    static let any = Schema()

    private init() {
        properties = nil
        items = nil
        anyOf = nil
        reference = nil
        values = nil
        format = nil
        types = []
    }

    var isInteger: Bool { types.first == "integer" }

    /// A description of the expected value for display.
    var expectation: String {
        if let values { return "one of " + values.compactMap { $0 }.map { "'\($0)'" }.joined(separator: ", ") }
        if format == "date-time" { return "a time such as 2026-11-21T06:00:00Z" }
        return switch types.first {
        case "string": "a string"
        case "integer": "an integer"
        case "number": "a number"
        case "boolean": "true or false"
        case "array": "an array"
        case "object": "an object"
        default: "something else"
        }
    }
}
