#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The arguments as bytes, which need not be UTF-8.
///
/// A URL keeps every byte, percent-encoded: `caf\xe9` becomes `caf%E9`. Any other argument goes to the service in JSON,
/// which cannot represent bytes that are not UTF-8 (RFC 8259, section 8.1). If such an argument is not UTF-8, this is
/// an error; the argument is never changed silently.
struct ArgumentBytes {
    /// The arguments as text. An argument that is not UTF-8 contains U+FFFD, and ``mistake`` reports it.
    private(set) var words: [String] = []
    /// A sentence about the first argument that is not UTF-8, or nil if every argument is UTF-8.
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

    /// The arguments of this process as bytes, without the program's name.
    static var ofThisProcess: [[UInt8]] {
        (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
            CommandLine.unsafeArgv[index].map { Self.bytes($0) }
        }
    }

    static func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
        UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
    }

    /// Returns the bytes as text, with each non-ASCII or control byte written as `\xe9`.
    static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            guard byte < 0x20 || byte >= 0x7F else { return String(Unicode.Scalar(byte)) }
            return "\\x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// Returns the argument as text, or nil if the argument is neither UTF-8 nor a URL.
    private static func text(_ bytes: [UInt8]) -> String? {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        guard isURL(bytes) else { return nil }
        return URLBytes.text(bytes)
    }

    /// Returns whether the argument is a URL, or an option with a URL, such as `--mirror=https://...`.
    private static func isURL(_ bytes: [UInt8]) -> Bool {
        var value = bytes[...]
        if value.starts(with: "--".utf8), let equals = value.firstIndex(of: UInt8(ascii: "=")) {
            // If the option's name is not UTF-8, it would be percent-encoded together with the URL.
            guard value[..<equals].allSatisfy({ $0 < 0x80 }) else { return false }
            value = value[(equals + 1)...]
        }
        let start = String(decoding: value.prefix(8), as: UTF8.self).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// Returns the argument in quotes, or an empty text if the argument may contain a secret.
    private static func shown(_ bytes: [UInt8], after previous: String?) -> String {
        let word = escaped(bytes)
        guard !SecretArguments.mayBeSecret(word, after: previous), !word.contains("://") else { return "" }
        return " ('\(word)')"
    }
}

/// A converter for the bytes of a URL that comes from the command line or from a list.
enum URLBytes {
    /// Returns the bytes as text. If they are not UTF-8, each non-ASCII byte is percent-encoded.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.map { byte in
            byte < 0x80 ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
