import RawStructuredFieldValues

/// Structured fields (RFC 9651), as far as digests and resumable uploads have them, read as strictly as they are defined.
///
/// A field that is not grammatical, or that comes twice where one item is wanted, is as if it were not there.
package enum StructuredField {
    /// A value: what uploads use, and that there was something else.
    package enum Value: Hashable, Sendable {
        case integer(Int64)
        case boolean(Bool)
        case other
    }

    /// Bytes of a field that are read: what is known to be sent has some hundreds. The parser compares each key with all
    /// before it.
    package static let longest = 4096

    /// The one item that the field's lines hold, its parameters left out.
    package static func item(_ lines: [String]) -> Value? {
        guard lines.count == 1, var parser = parser(lines) else { return nil }
        return (try? parser.parseItemFieldValue()).map { Value($0) }
    }

    package static func boolean(_ lines: [String]) -> Bool? {
        guard case .boolean(let value)? = item(lines) else { return nil }
        return value
    }

    /// An integer that is not negative: sizes and offsets.
    package static func count(_ lines: [String]) -> Int64? {
        guard case .integer(let value)? = item(lines), value >= 0 else { return nil }
        return value
    }

    /// The members by their keys, of two with the same key the last; nil where the field is missing or not grammatical.
    package static func dictionary(_ lines: [String]) -> [String: Value]? {
        guard let members = members(lines) else { return nil }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.0, Value($0.1)) })
    }

    /// The base64 of the member `key` of a dictionary, where that is a byte sequence; nil where it is anything else.
    static func byteSequence(_ key: String, in members: OrderedMap<String, ItemOrInnerList>) -> String? {
        guard case .item(let item)? = members[key], case .undecodedByteSequence(let text) = item.rfc9651BareItem else {
            return nil
        }
        return text
    }

    /// A dictionary as the parser has it.
    static func members(_ lines: [String]) -> OrderedMap<String, ItemOrInnerList>? {
        guard !lines.isEmpty, var parser = parser(lines) else { return nil }
        return try? parser.parseDictionaryFieldValue()
    }

    /// Lines of a field are as one line with commas (RFC 9651, section 4.2).
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
