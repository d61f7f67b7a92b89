extension JSONScanner {
    /// Reads a value. Returns the integer part of a number that fits 64 bits, 1 for `true`, and 0 for `false`.
    mutating func wholeNumber() throws(Malformed) -> Double? {
        switch peek {
        case 0x74:
            try word("true")
            return 1
        case 0x66:
            try word("false")
            return 0
        case 0x2D?, 0x30?, 0x31?, 0x32?, 0x33?, 0x34?, 0x35?, 0x36?, 0x37?, 0x38?, 0x39?:
            let whole = try number().rounded(.towardZero)
            return whole >= -0x1p63 && whole < 0x1p63 ? whole : nil
        default:
            try skipValue()
            return nil
        }
    }

    mutating func number() throws(Malformed) -> Double {
        let start = index
        _ = skip(0x2D)
        if !skip(0x30) { try digits() }
        if skip(0x2E) { try digits() }
        if skip(0x65) || skip(0x45) {
            if !skip(0x2B) { _ = skip(0x2D) }
            try digits()
        }
        // A number that is too large counts as malformed, because an app could not read it either.
        guard let value = Double(String(decoding: bytes[start..<index], as: UTF8.self)), value.isFinite else {
            throw Malformed()
        }
        return value
    }

    private mutating func digits() throws(Malformed) {
        let start = index
        while let byte = peek, (0x30...0x39).contains(byte) { index += 1 }
        guard index > start else { throw Malformed() }
    }
}
