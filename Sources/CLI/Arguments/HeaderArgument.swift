import ArgumentParser
import NightshiftAPI

/// `Name: value`, as RFC 9112 writes header fields.
enum HeaderArgument {
    static func parse(_ text: String) throws -> HeaderField {
        guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
            throw ValidationError("a header field is written 'Name: value'")
        }
        let name = text[..<colon]
        guard name.unicodeScalars.allSatisfy({ isToken($0) }) else {
            throw ValidationError("a header field's name has letters, digits and !#$%&'*+-.^_`|~ only")
        }
        let value = text[text.index(after: colon)...].trimmingSpaces()
        guard value.unicodeScalars.allSatisfy({ $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7f) }) else {
            throw ValidationError("a header field's value has no control characters")
        }
        return HeaderField(name: String(name), value: value)
    }

    /// RFC 9110, section 5.6.2.
    private static func isToken(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}

extension StringProtocol {
    /// Without spaces, tabs and a carriage return at both ends.
    func trimmingSpaces() -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" || character == "\r" }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
