/// A decoder that detects the encoding of a URL list by its byte order mark. If there is no mark, the bytes are not
/// changed.
struct ListEncoding {
    private enum Encoding {
        case bytes
        case utf16LittleEndian
        case utf16BigEndian
    }

    /// The detected encoding, or nil until enough bytes have been read.
    private var encoding: Encoding?
    /// The bytes of a mark or character that is not complete yet.
    private var rest: [UInt8] = []

    /// Decodes the next bytes of the list and appends them to `result`. If the list has a mark, the result is UTF-8.
    ///
    /// - Parameter isEnd: whether these are the last bytes.
    /// - Throws: ``CommandFailure`` if the list is invalid UTF-16.
    mutating func decode(_ bytes: some Sequence<UInt8>, isEnd: Bool, into result: inout [UInt8]) throws {
        rest += bytes
        let encoding: Encoding
        if let known = self.encoding {
            encoding = known
        } else if let found = mark(isEnd: isEnd) {
            self.encoding = found
            encoding = found
        } else {
            return
        }
        switch encoding {
        case .bytes:
            result += rest
            rest = []
        case .utf16LittleEndian: try decode(isEnd: isEnd, into: &result) { UInt16($0) | UInt16($1) << 8 }
        case .utf16BigEndian: try decode(isEnd: isEnd, into: &result) { UInt16($0) << 8 | UInt16($1) }
        }
    }

    /// Removes the byte order mark from the first bytes and returns the encoding, or nil if more bytes are needed.
    private mutating func mark(isEnd: Bool) -> Encoding? {
        for (mark, encoding) in Self.marks {
            if rest.starts(with: mark) {
                rest.removeFirst(mark.count)
                return encoding
            }
            if !isEnd, mark.starts(with: rest) { return nil }
        }
        return .bytes
    }

    private static let marks: [([UInt8], Encoding)] = [
        ([0xEF, 0xBB, 0xBF], .bytes), ([0xFF, 0xFE], .utf16LittleEndian), ([0xFE, 0xFF], .utf16BigEndian),
    ]

    private mutating func decode(
        isEnd: Bool, into result: inout [UInt8], _ unit: (UInt8, UInt8) -> UInt16
    ) throws {
        var units = stride(from: 0, to: rest.count - 1, by: 2).map { unit(rest[$0], rest[$0 + 1]) }
        rest.removeFirst(units.count * 2)
        // The decoder keeps a lead surrogate until its trail surrogate arrives.
        if !isEnd, let last = units.last, UTF16.isLeadSurrogate(last) {
            units.removeLast()
            rest = [UInt8(last & 0xFF), UInt8(last >> 8)] + rest
            if encoding == .utf16BigEndian { rest.swapAt(0, 1) }
        }
        guard !isEnd || rest.isEmpty, let text = String(validating: units, as: UTF16.self) else {
            throw CommandFailure.usage(
                "The list begins with the byte order mark of UTF-16, but is not valid UTF-16. Save it as UTF-8.")
        }
        result += text.utf8
    }
}
