import RawStructuredFieldValues

/// A strict parser for structured fields (RFC 9651), limited to what digests and resumable uploads need.
///
/// A field that is malformed, or that occurs twice where one item is expected, is treated as missing.
package enum StructuredField {
    /// A value of a type that uploads use, or a marker for any other type.
    package enum Value: Hashable, Sendable {
        case integer(Int64)
        case boolean(Bool)
        case other
    }

    /// The longest field in bytes that is parsed; known fields have some hundreds. The parser compares each key with
    /// all earlier keys, so its time grows quadratically.
    package static let longest = 4096

    /// Returns the single item in the lines of the field, without its parameters.
    package static func item(_ lines: [String]) -> Value? {
        guard lines.count == 1, var parser = parser(lines) else { return nil }
        return (try? parser.parseItemFieldValue()).map { Value($0) }
    }

    package static func boolean(_ lines: [String]) -> Bool? {
        guard case .boolean(let value)? = item(lines) else { return nil }
        return value
    }

    /// Returns a non-negative integer, such as a size or an offset.
    package static func count(_ lines: [String]) -> Int64? {
        guard case .integer(let value)? = item(lines), value >= 0 else { return nil }
        return value
    }

    /// Returns the members by key; the last one wins if a key is repeated. Nil if the field is missing or malformed.
    package static func dictionary(_ lines: [String]) -> [String: Value]? {
        guard let members = members(lines) else { return nil }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.0, Value($0.1)) })
    }

    /// Returns the base64 text of the byte sequence with this key; nil if the member has another type.
    static func byteSequence(_ key: String, in members: OrderedMap<String, ItemOrInnerList>) -> String? {
        guard case .item(let item)? = members[key], case .undecodedByteSequence(let text) = item.rfc9651BareItem else {
            return nil
        }
        return text
    }

    /// Returns the dictionary in the parser's own type.
    static func members(_ lines: [String]) -> OrderedMap<String, ItemOrInnerList>? {
        guard !lines.isEmpty, var parser = parser(lines) else { return nil }
        return try? parser.parseDictionaryFieldValue()
    }

    /// Returns a parser of the lines of a field, joined with commas (RFC 9651, section 4.2).
    private static func parser(_ lines: [String]) -> StructuredFieldValueParser<[UInt8]>? {
        let bytes = Array(lines.joined(separator: ", ").utf8)
        return bytes.count <= longest ? StructuredFieldValueParser(bytes) : nil
    }
}

extension StructuredField.Value {
    fileprivate init(_ member: ItemOrInnerList) {
        switch member {
        case .item(let item): self.init(item)
        case .innerList: self = .other
        }
    }

    fileprivate init(_ item: Item) {
        switch item.rfc9651BareItem {
        case .integer(let value): self = .integer(value)
        case .bool(let value): self = .boolean(value)
        default: self = .other
        }
    }
}
