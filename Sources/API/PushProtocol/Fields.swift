/// The names of fields in the protocol. A name has the same meaning in every frame.
enum FieldName: UInt8 {
    case version = 1
    case nonce, device, signature, keepAlive, state
    /// A filter for a topic, as one byte, followed by the topic. This field may be repeated.
    case choice
    case push, topic, timestamp, expiry, priority, type, collapseID, storage, payload, request, token, fresh, code, key
    case name, refusal, text, retryAfter, endpoints
}

/// A writer of a sequence of fields.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ name: FieldName, _ value: some Collection<UInt8>) {
        // The fields of this program never exceed the limit. A longer field is left out, because a truncated one would
        // be corrupt.
        guard let length = UInt16(exactly: value.count) else { return }
        bytes.append(name.rawValue)
        bytes.append(UInt8(length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(contentsOf: value)
    }

    mutating func put(_ name: FieldName, _ value: String) {
        put(name, value.utf8)
    }

    mutating func put(_ name: FieldName, _ value: some FixedWidthInteger) {
        put(name, withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
}

/// A reader of the fields of a frame.
struct FieldReader {
    private var fields: [(name: FieldName, value: ArraySlice<UInt8>)] = []

    init(_ bytes: ArraySlice<UInt8>) throws(FrameError) {
        var rest = bytes
        while !rest.isEmpty {
            guard rest.count >= 3 else { throw .malformed("a field has no length") }
            let start = rest.startIndex
            let length = Int(rest[start + 1]) << 8 | Int(rest[start + 2])
            guard rest.count - 3 >= length else { throw .malformed("a field is longer than its frame") }
            if let name = FieldName(rawValue: rest[start]) {
                fields.append((name, rest[(start + 3)..<(start + 3 + length)]))
            }
            rest = rest[(start + 3 + length)...]
        }
    }

    func all(_ name: FieldName) -> [ArraySlice<UInt8>] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// Returns the value of a field; nil if the field is missing. Throws if the field is repeated.
    func optional(_ name: FieldName) throws(FrameError) -> ArraySlice<UInt8>? {
        var found: ArraySlice<UInt8>?
        for field in fields where field.name == name {
            guard found == nil else { throw .malformed("the field \(name) occurs twice") }
            found = field.value
        }
        return found
    }

    func bytes(_ name: FieldName, _ lengths: ClosedRange<Int>) throws(FrameError) -> [UInt8] {
        guard let value = try optional(name) else { throw .malformed("no field \(name)") }
        guard lengths.contains(value.count) else { throw .malformed("\(value.count) bytes of \(name)") }
        return Array(value)
    }

    func text(_ name: FieldName, _ lengths: ClosedRange<Int>) throws(FrameError) -> String {
        try Self.text(bytes(name, lengths)[...], name)
    }

    func optionalText(_ name: FieldName, _ lengths: ClosedRange<Int>) throws(FrameError) -> String? {
        try optional(name) == nil ? nil : text(name, lengths)
    }

    func number<Number: FixedWidthInteger>(_ name: FieldName, as type: Number.Type) throws(FrameError) -> Number {
        let width = Number.bitWidth / 8
        return try bytes(name, width...width).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    func word<Word: RawRepresentable>(_ name: FieldName, as type: Word.Type) throws(FrameError) -> Word
    where Word.RawValue == UInt8 {
        let number = try number(name, as: UInt8.self)
        guard let word = Word(rawValue: number) else { throw .malformed("\(number) as \(name)") }
        return word
    }

    func identifier(_ name: FieldName) throws(FrameError) -> Identifier {
        guard let identifier = Identifier(bytes: try bytes(name, 16...16)) else { throw .malformed("no \(name)") }
        return identifier
    }

    func choices() throws(FrameError) -> [TopicChoice] {
        let values = all(.choice)
        guard values.count <= ProtocolLimits.topics else {
            throw .malformed("it has filters for too many topics: \(values.count)")
        }
        var choices: [TopicChoice] = []
        for value in values {
            guard let first = value.first, let filter = TopicFilter(rawValue: first),
                (2...(1 + ProtocolLimits.topicLength)).contains(value.count)
            else { throw .malformed("a filter") }
            choices.append(TopicChoice(try Self.text(value.dropFirst(), .choice), filter))
        }
        return choices
    }

    private static func text(_ bytes: ArraySlice<UInt8>, _ name: FieldName) throws(FrameError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformed("\(name) is not UTF-8") }
        return text
    }
}

/// The error for bytes that are not a valid frame.
package enum FrameError: Error, Sendable, Hashable, CustomStringConvertible {
    case tooLong(Int)
    case unknownType(UInt8)
    case malformed(String)

    package var description: String {
        switch self {
        case .tooLong(let length): "A frame has \(length) bytes. The limit is \(ProtocolLimits.frameLength)."
        case .unknownType(let type): "The frame type \(type) is unknown."
        case .malformed(let what): "A frame cannot be parsed: \(what)."
        }
    }
}
