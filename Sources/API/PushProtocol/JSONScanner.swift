/// A scanner that reads JSON (RFC 8259) once, from the first byte to the last, without creating values. It is used for
/// payloads of which only a few values are needed.
///
/// It accepts the same documents as Foundation's parser for UTF-8, with one exception: it does not accept a comma after
/// the last member of an object or an array, which no other parser accepts either.
struct JSONScanner {
    /// The error for bytes that are not valid JSON.
    struct Malformed: Error {}

    /// An unparsed string, which is a value or the name of a member.
    struct Text {
        /// The bytes between the quotation marks.
        fileprivate var bytes: Slice<UnsafeBufferPointer<UInt8>>
        fileprivate var hasEscapes: Bool

        func `is`(_ name: StaticString) -> Bool {
            let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            return hasEscapes ? unescaped.elementsEqual(name) : bytes.elementsEqual(name)
        }

        /// Whether the string contains a visible character.
        var isVisible: Bool {
            guard hasEscapes else { return String(decoding: bytes, as: UTF8.self).hasVisibleCharacters }
            return String(decoding: unescaped, as: UTF8.self).hasVisibleCharacters
        }

        /// The UTF-8 bytes of the string after decoding its escapes. The escapes have already been checked.
        private var unescaped: [UInt8] {
            var result: [UInt8] = []
            var units: [UInt16] = []
            var index = bytes.startIndex
            func closeUnits() {
                // The two halves of a surrogate pair follow each other directly.
                if !units.isEmpty { result += Array(String(decoding: units, as: UTF16.self).utf8) }
                units = []
            }
            while index < bytes.endIndex {
                let byte = bytes[index]
                index += 1
                guard byte == 0x5C else {
                    closeUnits()
                    result.append(byte)
                    continue
                }
                let letter = bytes[index]
                index += 1
                guard letter == 0x75 else {
                    closeUnits()
                    result.append(JSONScanner.escape(letter))
                    continue
                }
                units.append(bytes[index..<(index + 4)].reduce(0) { $0 << 4 | UInt16(JSONScanner.digit($1) ?? 0) })
                index += 4
            }
            closeUnits()
            return result
        }
    }

    /// The maximum depth of nested objects and arrays.
    private static let depthLimit = 512

    let bytes: UnsafeBufferPointer<UInt8>
    var index = 0
    private var depth = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    static func isUnicode(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
    }

    // MARK: - Documents

    /// Reads a document that is an object. `member` is called with the name of each member, and must read or skip the
    /// member's value.
    mutating func document(
        _ member: (inout JSONScanner, Text) throws(Malformed) -> Void
    ) throws(Malformed) {
        // A byte order mark is skipped, because most parsers accept it.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        skipSpace()
        try object(member)
        skipSpace()
        guard index == bytes.count else { throw Malformed() }
    }

    var isAtObject: Bool { peek == 0x7B }

    /// Reads the object at the current position.
    mutating func object(_ member: (inout JSONScanner, Text) throws(Malformed) -> Void) throws(Malformed) {
        try enter(0x7B)
        if leave(0x7D) { return }
        repeat {
            skipSpace()
            let key = try string()
            skipSpace()
            try take(0x3A)
            skipSpace()
            try member(&self, key)
            skipSpace()
        } while skip(0x2C)
        guard leave(0x7D) else { throw Malformed() }
    }

    private mutating func array() throws(Malformed) {
        try enter(0x5B)
        if leave(0x5D) { return }
        repeat {
            skipSpace()
            try skipValue()
            skipSpace()
        } while skip(0x2C)
        guard leave(0x5D) else { throw Malformed() }
    }

    private mutating func enter(_ byte: UInt8) throws(Malformed) {
        try take(byte)
        depth += 1
        guard depth <= Self.depthLimit else { throw Malformed() }
        skipSpace()
    }

    private mutating func leave(_ byte: UInt8) -> Bool {
        guard skip(byte) else { return false }
        depth -= 1
        return true
    }

    // MARK: - Values

    mutating func skipValue() throws(Malformed) {
        switch peek {
        case 0x7B: try object { (scanner, _) throws(Malformed) in try scanner.skipValue() }
        case 0x5B: try array()
        case 0x22: _ = try string()
        case 0x74: try word("true")
        case 0x66: try word("false")
        case 0x6E: try word("null")
        default: _ = try number()
        }
    }

    /// Reads a value, and returns whether it is a string with a visible character.
    mutating func hasVisibleText() throws(Malformed) -> Bool {
        guard peek == 0x22 else {
            try skipValue()
            return false
        }
        return try string().isVisible
    }

    mutating func word(_ word: StaticString) throws(Malformed) {
        for byte in UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount) { try take(byte) }
    }

    private mutating func string() throws(Malformed) -> Text {
        try take(0x22)
        let start = index
        var hasEscapes = false
        while let byte = peek {
            index += 1
            switch byte {
            case 0x22: return Text(bytes: bytes[start..<(index - 1)], hasEscapes: hasEscapes)
            case 0x5C:
                hasEscapes = true
                try skipEscape()
            case 0..<0x20: throw Malformed()
            default: break
            }
        }
        throw Malformed()
    }

    private mutating func skipEscape() throws(Malformed) {
        guard let byte = peek else { throw Malformed() }
        index += 1
        guard byte == 0x75 else {
            guard Self.escape(byte) != 0 else { throw Malformed() }
            return
        }
        switch try codeUnit() {
        case 0xD800..<0xDC00:
            // The first half of a surrogate pair must be followed by the second half.
            try take(0x5C)
            try take(0x75)
            guard (0xDC00..<0xE000).contains(try codeUnit()) else { throw Malformed() }
        case 0xDC00..<0xE000: throw Malformed()
        default: break
        }
    }

    private mutating func codeUnit() throws(Malformed) -> Int {
        var value = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Self.digit(byte) else { throw Malformed() }
            value = value << 4 | Int(digit)
            index += 1
        }
        return value
    }

    // MARK: - Bytes

    var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        index += 1
        return true
    }

    mutating func take(_ byte: UInt8) throws(Malformed) {
        guard skip(byte) else { throw Malformed() }
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    /// Returns the character for an escape of one letter; 0 if the escape is unknown.
    fileprivate static func escape(_ letter: UInt8) -> UInt8 {
        switch letter {
        case 0x22, 0x5C, 0x2F: letter
        case 0x62: 0x08
        case 0x66: 0x0C
        case 0x6E: 0x0A
        case 0x72: 0x0D
        case 0x74: 0x09
        default: 0
        }
    }

    fileprivate static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
