package import Foundation

/// The expected shape of a JSON value, as far as ``JSONCheck`` examines it.
package protocol JSONShape {
    /// The allowed keys of an object with the shapes of their values; nil if any key is allowed.
    var properties: [String: Self]? { get }
    /// The shape of the elements of an array; nil if any shape is allowed.
    var items: Self? { get }
    var isInteger: Bool { get }
    /// A shape that allows any value.
    static var any: Self { get }
    /// The same shape with references to other shapes resolved.
    var resolved: Self { get }
}

/// A check of JSON for problems that decoding alone does not find. It refuses:
///
/// - keys that a shape does not contain, at any depth, because a mistyped option must not be ignored silently;
/// - a key that occurs twice in one object, because two readers may use different values for it (RFC 8259, section 4);
/// - strings with the character NUL, which no path, argument or database column can hold;
/// - numbers that are not integers where the shape requires integers.
///
/// The check reads the bytes once. The bytes must already be valid JSON.
package enum JSONCheck {
    /// Returns the first problem, or nil if the data is valid.
    package static func finding<Shape: JSONShape>(in data: Data, against shape: Shape) -> Finding? {
        data.withUnsafeBytes { bytes -> Finding? in
            var scanner = Scanner<Shape>(bytes: bytes)
            do throws(Finding) {
                try scanner.value(shape)
                return nil
            } catch {
                return error
            }
        }
    }

    package struct Finding: Error {
        package var path: [String]
        package var detail: String
        /// Whether the form of the value is right but the value is not allowed. If false, the form is wrong.
        package var isValue = false

        fileprivate func inside(_ key: String) -> Finding {
            Finding(path: [key] + path, detail: detail, isValue: isValue)
        }
    }

    private struct Scanner<Shape: JSONShape> {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        init(bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
        }

        mutating func value(_ shape: Shape) throws(Finding) {
            let shape = shape.resolved
            skipSpace()
            if peek == UInt8(ascii: "{") {
                try object(shape.properties)
            } else if peek == UInt8(ascii: "[") {
                try array(shape.items)
            } else {
                let start = position
                try skipValue()
                if shape.isInteger { try checkInteger(bytes[start..<position]) }
            }
        }

        private func checkInteger(_ bytes: Slice<UnsafeRawBufferPointer>) throws(Finding) {
            let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard let number = Double(text), Int64(exactly: number) == nil, Int64(text) == nil else { return }
            throw Finding(path: [], detail: "\(text) must be an integer of at most 64 bits.")
        }

        /// Checks an object.
        ///
        /// - Parameter properties: The allowed keys with the shapes of their values; nil if the shape allows any key.
        private mutating func object(_ properties: [String: Shape]?) throws(Finding) {
            position += 1
            skipSpace()
            var keys: Set<String> = []
            while let byte = peek, byte != UInt8(ascii: "}") {
                let key = try string()
                if let properties, properties[key] == nil {
                    let known = properties.keys.sorted().joined(separator: ", ")
                    throw Finding(path: [key], detail: "The key '\(key)' is unknown here. Known keys: \(known).")
                }
                guard keys.insert(key).inserted else {
                    throw Finding(path: [key], detail: "The key '\(key)' is given twice.")
                }
                skipSpace()
                position += 1
                do throws(Finding) {
                    try value(properties?[key] ?? .any)
                } catch {
                    throw error.inside(key)
                }
                skipSeparator()
            }
            position += 1
        }

        private mutating func array(_ items: Shape?) throws(Finding) {
            position += 1
            skipSpace()
            var index = 0
            while let byte = peek, byte != UInt8(ascii: "]") {
                do throws(Finding) {
                    try value(items ?? .any)
                } catch {
                    throw error.inside(String(index))
                }
                index += 1
                skipSeparator()
            }
            position += 1
        }

        private mutating func skipSeparator() {
            skipSpace()
            if peek == UInt8(ascii: ",") { position += 1 }
            skipSpace()
        }

        /// Skips a string, a number, or a literal.
        private mutating func skipValue() throws(Finding) {
            if peek == UInt8(ascii: "\"") { return try skipString() }
            while let byte = peek, byte != UInt8(ascii: "}"), byte != UInt8(ascii: "]"), byte != UInt8(ascii: ",") {
                position += 1
            }
        }

        private mutating func string() throws(Finding) -> String {
            let start = position
            try skipString()
            let quoted = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
            let inner = quoted.dropFirst().dropLast()
            guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
            return (try? JSON.decode(String.self, from: Data(quoted))) ?? String(decoding: inner, as: UTF8.self)
        }

        private mutating func skipString() throws(Finding) {
            position += 1
            while let byte = peek, byte != UInt8(ascii: "\"") {
                guard byte == UInt8(ascii: "\\") else {
                    position += 1
                    continue
                }
                // JSON can express NUL only in this way.
                if bytes[min(position + 1, bytes.count)...].starts(with: "u0000".utf8) {
                    throw Finding(path: [], detail: "A string must not contain the character NUL.", isValue: true)
                }
                position += 2
            }
            position = min(position + 1, bytes.count)
        }

        private mutating func skipSpace() {
            while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
        }

        private var peek: UInt8? {
            position < bytes.count ? bytes[position] : nil
        }
    }
}
