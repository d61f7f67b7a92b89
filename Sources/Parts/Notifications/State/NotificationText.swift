/// Conversions that make texts of apps and providers safe for a notification server. They limit the length and remove
/// control characters.
package enum NotificationText {
    /// The size limit of a title in bytes. It also applies to the title of an action.
    package static let longestLine = 512
    /// The size limit of the text below the title, in bytes.
    package static let longestBody = 4_096

    /// Returns the text as a single safe line.
    package static func line(_ text: String) -> String {
        cut(text.unicodeScalars.lazy.map { isBreak($0) ? " " : $0 }.filter { !isControl($0) }, longestLine)
    }

    /// Returns the text in a safe form that may have several lines.
    package static func body(_ text: String) -> String {
        let unbroken = text.replacing("\r\n", with: "\n")
        return cut(
            unbroken.unicodeScalars.lazy.map { isBreak($0) && $0 != "\t" ? "\n" : $0 }
                .filter { $0 == "\n" || $0 == "\t" || !isControl($0) }, longestBody)
    }

    /// Returns the text with markup characters escaped, for a server that interprets markup.
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

    /// Returns the name of a sound in the sound theme. Paths are not passed on, because the server would play any file.
    /// For `default` and invalid names, the result is the desktop's sound for a message.
    package static func sound(_ name: String) -> String {
        // Apps specify the file name of a sound in their bundle.
        let stem = name.split(separator: ".").first.map(String.init) ?? ""
        let isName = !stem.isEmpty && stem.utf8.count <= 64 && stem.utf8.allSatisfy(isNameByte)
        return stem == "default" || !isName ? "message-new-instant" : stem
    }

    /// Returns a vendor category in the form of the specification; nil if the name is invalid.
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
