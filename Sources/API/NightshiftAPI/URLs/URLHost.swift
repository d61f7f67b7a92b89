import Foundation

/// Functions that parse the host and port of a URL.
enum URLHost {
    /// Splits `host:port`. The host of an IPv6 address keeps its brackets.
    static func split(
        _ text: ArraySlice<UInt8>
    ) throws(TransferFailure) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>) {
        let colon: ArraySlice<UInt8>.Index?
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else {
                throw TransferFailure(.badURL, "The host of the URL begins with [ but has no closing ].")
            }
            let after = text[(bracket + 1)...]
            guard after.isEmpty || after.first == UInt8(ascii: ":") else {
                throw TransferFailure(
                    .badURL, "In the URL, only a port may follow the ] of the host, as in [::1]:8080.")
            }
            colon = after.isEmpty ? nil : after.startIndex
        } else {
            colon = text.lastIndex(of: UInt8(ascii: ":"))
        }
        guard let colon else { return (text, []) }
        return (text[..<colon], text[(colon + 1)...])
    }

    /// Parses the port. Returns nil if `text` is empty.
    static func port(_ text: ArraySlice<UInt8>) throws(TransferFailure) -> Int? {
        guard !text.isEmpty else { return nil }
        guard text.allSatisfy(\.isASCIIDigit), let port = Int(String(decoding: text, as: UTF8.self)), port > 0,
            port < 65_536
        else {
            throw TransferFailure(.badURL, "The port of the URL must be a number from 1 to 65535.")
        }
        return port
    }

    /// Returns the host in its canonical form: lower-case ASCII for names, and the usual form for addresses. IPv6
    /// addresses are in brackets.
    static func parse(_ text: ArraySlice<UInt8>) throws(TransferFailure) -> String {
        guard !text.isEmpty else {
            throw TransferFailure(.badURL, "The URL has no host. Use a form such as https://host/path.")
        }
        if text.first == UInt8(ascii: "[") {
            let address = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
            guard let canonical = canonicalIPv6(address) else {
                throw TransferFailure(.badURL, "The text between [ and ] in the URL is not an IPv6 address.")
            }
            return "[\(canonical)]"
        }
        let decoded = PercentEncoding.decode(text)
        guard let name = String(validating: decoded, as: UTF8.self) else { throw invalid }
        let ascii = decoded.allSatisfy { $0 < 0x80 } ? name : try punycode(name)
        let host = ascii.lowercased()
        guard isHostName(host) else { throw invalid }
        guard IPv4Host.endsInNumber(host) else { return host }
        guard let address = IPv4Host.canonical(host) else {
            throw TransferFailure(.badURL, "The host of the URL ends in a number but is not a valid IPv4 address.")
        }
        return address
    }

    private static let invalid = TransferFailure(
        .badURL, "The host of the URL is not a valid name or address. Check it for spaces and special characters.")

    /// Converts a name to punycode. Foundation contains the mapping tables of IDNA (UTS 46). They also convert
    /// capitals, full-width letters and the full stops of other scripts.
    private static func punycode(_ name: String) throws(TransferFailure) -> String {
        // Characters that Foundation could interpret as another part of the URL must not be passed to it.
        guard name.utf8.allSatisfy({ $0 >= 0x80 || isHostByte($0) }),
            let url = URL(string: "http://\(name)/", encodingInvalidCharacters: true),
            let components = URLComponents(url: url, resolvingAgainstBaseURL: false), components.path == "/",
            components.port == nil, components.user == nil, let host = components.encodedHost
        else { throw invalid }
        return host
    }

    private static func isHostName(_ host: String) -> Bool {
        guard host.utf8.count <= 254 else { return false }
        var length = 0
        for byte in host.utf8 {
            guard isHostByte(byte) else { return false }
            let isEnd = byte == UInt8(ascii: ".")
            // The label is empty or too long.
            guard isEnd ? length > 0 : length < 63 else { return false }
            length = isEnd ? 0 : length + 1
        }
        // A name may end in one dot.
        return !host.isEmpty
    }

    /// Returns whether the byte may occur in a domain name. The URL Standard and libcurl must not forbid it, and no
    /// shell or log may misinterpret it.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        hostBytes[Int(byte)]
    }

    private static let hostBytes: [Bool] = {
        let forbidden = Array("#/:<>?@[\\]^|%\"`{}!$&'()*+,;=".utf8)
        return (UInt8.min...UInt8.max).map { $0 > 0x20 && $0 < 0x7F && !forbidden.contains($0) }
    }()

    private static func canonicalIPv6(_ text: String) -> String? {
        var address = in6_addr()
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(AF_INET6, text, &address) == 1,
            inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil
        else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
