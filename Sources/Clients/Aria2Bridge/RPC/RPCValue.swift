import Foundation

/// A value of JSON-RPC or XML-RPC: a parameter of a call, or a part of its result.
enum RPCValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([RPCValue])
    case object([String: RPCValue])

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if it is whole.
    var integer: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    var array: [RPCValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    var object: [String: RPCValue]? {
        if case .object(let members) = self { members } else { nil }
    }
}

extension RPCValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral value: String) { self = .string(value) }

    init(arrayLiteral elements: RPCValue...) { self = .array(elements) }

    init(dictionaryLiteral elements: (String, RPCValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension RPCValue: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The kinds that calls contain most often come first.
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let values = try? container.decode([RPCValue].self) {
            self = .array(values)
        } else if let members = try? container.decode([String: RPCValue].self) {
            self = .object(members)
        } else if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .integer(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}
