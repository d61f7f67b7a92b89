import ArgumentParser
import NightshiftAPI

/// A parser for header fields, such as `Name: value` (RFC 9112).
enum HeaderArgument {
    static func parse(_ text: String) throws -> HeaderField {
        guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
            throw ValidationError("write a header field as 'Name: value'")
        }
        let name = text[..<colon]
        guard name.unicodeScalars.allSatisfy({ isToken($0) }) else {
            throw ValidationError("the name of a header field consists of letters, digits and !#$%&'*+-.^_`|~")
        }
        let value = text[text.index(after: colon)...].trimmingSpaces()
        guard value.unicodeScalars.allSatisfy({ $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7f) }) else {
            throw ValidationError("the value of a header field must not contain control characters")
        }
        guard name.lowercased() != "host" else {
            throw ValidationError("the service sets Host from the URL; change the host in the URL")
        }
        return HeaderField(name: String(name), value: value)
    }

    /// Prints the header fields that are not sent because the service sets them itself.
    static func warn(about fields: [HeaderField], _ errors: Output) {
        let names = fields.filter(\.isReserved).map(\.name)
        guard !names.isEmpty else { return }
        errors.line(
            "nightshift: These header fields are not sent, because the service sets them: "
                + names.joined(separator: ", "))
    }

    /// Returns whether the character is allowed in a token (RFC 9110, section 5.6.2).
    private static func isToken(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}

extension StringProtocol {
    /// Returns the text without spaces, tabs and carriage returns at both ends.
    func trimmingSpaces() -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" || character == "\r" }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
