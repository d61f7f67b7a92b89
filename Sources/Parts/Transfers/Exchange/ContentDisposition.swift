import Foundation
import NightshiftAPI

/// The file name in a `Content-Disposition` field (RFC 6266, RFC 8187), including malformed variants that servers send.
enum ContentDisposition {
    /// Returns the name exactly as the server sent it. The name is untrusted input. `filename*` takes precedence over
    /// `filename`.
    static func fileName(_ field: String) -> String? {
        let parameters = parameters(of: field)
        let extended = parameters.lazy.filter { $0.name == "filename*" }.compactMap { extendedValue($0.value) }
        if let name = extended.first(where: { !$0.isEmpty }) { return name }
        return parameters.first { $0.name == "filename" && !$0.value.isEmpty }.map { plainValue($0.value) }
    }

    private struct Parameter {
        /// The name of the parameter, in lower case.
        var name: String
        var value: String
    }

    /// Returns the parameters of the field, with or without a disposition type before them.
    private static func parameters(of field: String) -> [Parameter] {
        var scanner = FieldScanner(field)
        var result: [Parameter] = []
        while !scanner.isAtEnd {
            scanner.skipSpaces()
            let name = scanner.consume(until: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") })
            if scanner.consume("=") {
                scanner.skipSpaces()
                let value = scanner.next == UInt8(ascii: "\"") ? quotedString(&scanner) : unquoted(&scanner)
                result.append(
                    Parameter(
                        name: String(decoding: name, as: UTF8.self).trimmedOfBlanks.lowercased(), value: value))
            }
            _ = scanner.consume(until: { $0 == UInt8(ascii: ";") })
            scanner.advance()
        }
        return result
    }

    /// Returns the text between the quotes, or to the end of the field if the closing quote is missing.
    ///
    /// Only quotes and backslashes can be escaped. A backslash before any other character comes from a server that
    /// sends Windows paths.
    private static func quotedString(_ scanner: inout FieldScanner) -> String {
        scanner.advance()
        var bytes: [UInt8] = []
        while let byte = scanner.next, byte != UInt8(ascii: "\"") {
            scanner.advance()
            if byte == UInt8(ascii: "\\"), let escaped = scanner.next,
                escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
            {
                bytes.append(escaped)
                scanner.advance()
            } else {
                bytes.append(byte)
            }
        }
        scanner.advance()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a token, or a name with spaces that was sent without quotes.
    private static func unquoted(_ scanner: inout FieldScanner) -> String {
        String(decoding: scanner.consume(until: { $0 == UInt8(ascii: ";") }), as: UTF8.self).trimmedOfBlanks
    }

    /// Decodes the value of `filename*`, such as `UTF-8''na%C3%AFve.txt`.
    private static func extendedValue(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decode(Array(parts[2].utf8))
        switch parts[0].lowercased() {
        case "utf-8", "utf8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1", "latin1": return latin1(bytes)
        default: return nil
        }
    }

    /// Decodes the value of `filename`. Many servers percent-encode this value, or encode it like mail headers (RFC
    /// 2047), and browsers decode both encodings.
    private static func plainValue(_ text: String) -> String {
        if let decoded = encodedWord(text) { return decoded }
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        return String(validating: PercentEncoding.decode(Array(text.utf8)), as: UTF8.self) ?? text
    }

    /// Decodes one or several encoded words such as `=?UTF-8?B?bmHDr3ZlLnR4dA==?=`, separated by blanks.
    private static func encodedWord(_ text: String) -> String? {
        guard text.hasPrefix("=?"), text.hasSuffix("?=") else { return nil }
        var result = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            let parts = word.split(separator: "?", omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0] == "=", parts[4] == "=" else { return nil }
            let bytes: [UInt8]
            switch parts[2].lowercased() {
            case "b":
                guard let data = Data(base64Encoded: String(parts[3])) else { return nil }
                bytes = Array(data)
            case "q":
                let percentEncoded = parts[3].replacing("=", with: "%").replacing("_", with: " ")
                bytes = PercentEncoding.decode(Array(percentEncoded.utf8))
            default: return nil
            }
            switch parts[1].lowercased() {
            case "utf-8":
                guard let decoded = String(validating: bytes, as: UTF8.self) else { return nil }
                result += decoded
            case "iso-8859-1": result += latin1(bytes)
            default: return nil
            }
        }
        return result
    }

    private static func latin1(_ bytes: [UInt8]) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
