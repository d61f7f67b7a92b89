import NightshiftAPI

/// Names for downloaded files, made from untrusted input.
package enum FileName {
    /// The longest name that Linux file systems allow, in bytes.
    static let longest = 255
    static let fallback = "download"

    /// Returns a safe name for the file from `url`: the server's name, or the last segment of the path, or `download`.
    package static func derive(contentDisposition: String?, url: String) -> String {
        if let field = contentDisposition, let given = ContentDisposition.fileName(field), let name = sanitize(given) {
            return name
        }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // In a URL without a path, the text after the last slash would be the host.
        let afterScheme = path.firstRange(of: "://".utf8).map { path[$0.upperBound...] } ?? path
        guard let slash = afterScheme.lastIndex(of: UInt8(ascii: "/")) else { return fallback }
        let segment = afterScheme[slash...].dropFirst()
        let decoded = String(validating: PercentEncoding.decode(segment), as: UTF8.self)
        return sanitize(decoded ?? String(decoding: segment, as: UTF8.self)) ?? fallback
    }

    /// Returns the part of `name` that is safe as the name of a file; nil if nothing is left.
    ///
    /// Everything up to the last slash or backslash is removed. So are characters that control a terminal or the
    /// direction of text, and dots and spaces at the beginning (hidden files, `..`) and at the end. Names longer than
    /// 255 bytes are cut between characters and keep their extension.
    package static func sanitize(_ name: String) -> String? {
        if isPlain(name) { return name }
        let scalars = name.unicodeScalars
        let start = scalars.lastIndex { $0 == "/" || $0 == "\\" }.map(scalars.index(after:)) ?? scalars.startIndex
        let visible = String(String.UnicodeScalarView(scalars[start...].filter { !isForbidden($0) }))
        let trimmed = trimmed(visible)
        guard !trimmed.isEmpty else { return nil }
        let parts = split(trimmed)
        let fitting = parts.stem.isEmpty ? trimmed : joined(parts.stem, suffix: parts.ending)
        let result = self.trimmed(fitting)
        return result.isEmpty ? nil : result
    }

    /// Returns `name` with a number, for a name that is taken: `a.tar.gz` becomes `a (1).tar.gz`. At most 255 bytes.
    package static func numbered(_ name: String, _ n: Int) -> String {
        let parts = split(name)
        return joined(parts.stem, suffix: " (\(n))\(parts.ending)")
    }

    /// Returns a number for which ``numbered(_:_:)`` gives a free name.
    ///
    /// Checks only a few names, even if many are taken. If the taken numbers are consecutive, as downloads create them,
    /// the result is the next number.
    package static func freeNumber(isTaken: (Int) -> Bool) -> Int {
        var free = 1
        while isTaken(free), free < 1 << 40 { free *= 2 }
        var taken = free / 2
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if isTaken(middle) { taken = middle } else { free = middle }
        }
        return free
    }

    /// Returns `name` with an underscore in place of each character that FAT does not allow.
    package static func plain(_ name: String) -> String {
        let refused = ":*?\"<>|".unicodeScalars
        let scalars = name.unicodeScalars.map { scalar -> Unicode.Scalar in
            refused.contains(scalar) ? "_" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// The longest ending, in characters, that counts as an extension when a number is inserted before it.
    private static let longestExtension = 20

    /// Returns the name without its extension, and the extension with its dot. Compound extensions such as `.tar.gz`
    /// are not split.
    private static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return (name, "") }
        let letters = name.utf8[dot...].dropFirst()
        guard !letters.isEmpty, letters.count <= longestExtension,
            letters.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x5F || $0 == 0x2D })
        else { return (name, "") }
        var start = dot
        let before = name[..<dot]
        if before.utf8.count > 4, before.suffix(4).lowercased() == ".tar" {
            start = before.index(before.endIndex, offsetBy: -4)
        }
        return (String(name[..<start]), String(name[start...]))
    }

    /// Returns `stem` and `suffix` in one name; `stem` is cut if the name would be too long.
    private static func joined(_ stem: String, suffix: String) -> String {
        let room = max(1, longest - suffix.utf8.count)
        guard stem.utf8.count > room else { return stem + suffix }
        var cut = ""
        var size = 0
        for character in stem {
            size += character.utf8.count
            if size > room { break }
            cut.append(character)
        }
        if cut.isEmpty {
            // A single character with many combining accents can exceed the limit alone.
            for scalar in stem.unicodeScalars where cut.utf8.count + scalar.utf8.count <= room {
                cut.unicodeScalars.append(scalar)
            }
        }
        return cut + suffix
    }

    private static func trimmed(_ name: String) -> String {
        let scalars = name.unicodeScalars
        let isEdge: (Unicode.Scalar) -> Bool = { $0 == "." || $0.properties.isWhitespace }
        guard let first = scalars.firstIndex(where: { !isEdge($0) }),
            let last = scalars.lastIndex(where: { !isEdge($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    /// Returns whether the name needs no change. This is true of most names.
    private static func isPlain(_ name: String) -> Bool {
        let bytes = name.utf8
        let dot = UInt8(ascii: ".")
        guard (1...longest).contains(bytes.count), bytes.first != dot, bytes.last != dot else { return false }
        return bytes.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true  // control characters
        // characters that control the direction of text
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        case 0x2028, 0x2029, 0x200B, 0x2060, 0xFEFF, 0xFFF9...0xFFFB: true  // line ends and invisible characters
        default: false
        }
    }
}
