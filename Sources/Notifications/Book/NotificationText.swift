/// Texts of others, made fit for a notification server: bounded, and without control characters.
package enum NotificationText {
    /// Bytes of a title or of an action's: a line.
    package static let longestLine = 512
    /// Bytes of a text below the title.
    package static let longestBody = 4_096

    /// A text in one line.
    package static func line(_ text: String) -> String {
        cut(text.unicodeScalars.lazy.map { isBreak($0) ? " " : $0 }.filter { !isControl($0) }, longestLine)
    }

    /// A text that may have several lines.
    package static func body(_ text: String) -> String {
        let unbroken = text.replacing("\r\n", with: "\n")
        return cut(
            unbroken.unicodeScalars.lazy.map { isBreak($0) && $0 != "\t" ? "\n" : $0 }
                .filter { $0 == "\n" || $0 == "\t" || !isControl($0) }, longestBody)
    }

    /// A text as it is, where the server reads markup.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// A name of the sound theme: a path would have the server play any file. `default` and whatever is no name is the
    /// desktop's own sound for a message.
    package static func sound(_ name: String) -> String {
        // Apps give the name of a file in their bundle.
        let stem = name.split(separator: ".").first.map(String.init) ?? ""
        let isName = !stem.isEmpty && stem.utf8.count <= 64 && stem.utf8.allSatisfy(isNameByte)
        return stem == "default" || !isName ? "message-new-instant" : stem
    }

    /// A vendor's category, as the specification wants it; nil for a name that is none.
    package static func category(_ name: String) -> String? {
        let isName = !name.isEmpty && name.utf8.count <= 64 && name.utf8.allSatisfy(isNameByte)
        return isName ? "x-nightshift.\(name)" : nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 9, 10, 13, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }

    private static func cut(_ scalars: some Sequence<Unicode.Scalar>, _ most: Int) -> String {
        var (result, bytes) = (String.UnicodeScalarView(), 0)
        for scalar in scalars {
            bytes += Unicode.UTF8.width(scalar)
            guard bytes <= most else { break }
            result.append(scalar)
        }
        return String(result)
    }
}
