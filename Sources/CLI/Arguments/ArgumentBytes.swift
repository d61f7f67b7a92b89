#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The words of the command line as bytes, which need not be UTF-8.
///
/// A URL keeps every byte, percent-encoded: `caf\xe9` becomes `caf%E9`. Any other word is sent to the service as JSON, which has no
/// form for bytes that are not UTF-8 (RFC 8259, section 8.1). Such a word is a mistake and never changed.
struct ArgumentBytes {
    /// The words as text. A word that cannot be kept has U+FFFD in it, and ``mistake`` says so.
    private(set) var words: [String] = []
    /// A sentence about the first word that cannot be kept; nil where there is none.
    private(set) var mistake: String?

    init(_ arguments: [[UInt8]]) {
        for bytes in arguments {
            if let text = Self.text(bytes) {
                words.append(text)
                continue
            }
            if mistake == nil {
                mistake = """
                    Argument \(words.count + 1)\(Self.shown(bytes, after: words.last)) is not valid UTF-8. If it is a \
                    file, rename it. If it is a directory, rename it, or change into it with cd and use '.'. In a URL, \
                    write such a byte as %XX.
                    """
            }
            words.append(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// The arguments of this process, without the program's name.
    static var ofThisProcess: [[UInt8]] {
        (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
            CommandLine.unsafeArgv[index].map { Self.bytes($0) }
        }
    }

    static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
    }

    /// The bytes with each one that is not ASCII, or not visible, written as `\xe9`.
    static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            guard byte < 0x20 || byte >= 0x7F else { return String(Unicode.Scalar(byte)) }
            return "\\x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// Nil for a word that is neither UTF-8 nor a URL.
    private static func text(_ bytes: [UInt8]) -> String? {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        guard isURL(bytes) else { return nil }
        return URLBytes.text(bytes)
    }

    /// Whether the word is a URL, or an option with one, such as `--mirror=https://...`.
    private static func isURL(_ bytes: [UInt8]) -> Bool {
        var value = bytes[...]
        if value.starts(with: "--".utf8), let equals = value.firstIndex(of: UInt8(ascii: "=")) {
            // A name that is not UTF-8 would be encoded with the URL.
            guard value[..<equals].allSatisfy({ $0 < 0x80 }) else { return false }
            value = value[(equals + 1)...]
        }
        let start = String(decoding: value.prefix(8), as: UTF8.self).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// The word in quotes, or nothing where it may hold a secret.
    private static func shown(_ bytes: [UInt8], after previous: String?) -> String {
        let word = escaped(bytes)
        guard !SecretArguments.mayBeSecret(word, after: previous), !word.contains("://") else { return "" }
        return " ('\(word)')"
    }
}

/// A URL as it was typed or listed, byte by byte.
enum URLBytes {
    /// The bytes as text: as they are where they are UTF-8, else each one beyond ASCII percent-encoded.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.map { byte in
            byte < 0x80 ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
