import Glibc
import NightshiftAPI

/// The address of gpsd, from `NIGHTSHIFT_GPSD`.
enum GpsdAddress: Equatable, Sendable {
    /// A numeric address. Host names are not supported, because resolving one would block all other work.
    case host(String, port: UInt16)
    /// The value `none`: gpsd is not used.
    case off
    /// A text that is not an address.
    case unreadable(String)

    /// The default address of gpsd: its registered port on this machine.
    static let usual = GpsdAddress.host("127.0.0.1", port: 2947)

    /// Parses `HOST:PORT` with an IPv4 address, an IPv6 address in brackets, or `localhost`. Nil and an empty text give
    /// ``usual``.
    init(_ text: String?) {
        guard let text, !text.isEmpty else {
            self = Self.usual
            return
        }
        guard text != "none" else {
            self = .off
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0,
            let host = Self.numeric(text[..<colon])
        else {
            self = .unreadable(String(text.prefix(100)))
            return
        }
        self = .host(host, port: port)
    }

    private static func numeric(_ text: Substring) -> String? {
        if text == "localhost" { return "127.0.0.1" }
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, String(text), &four) == 1 { return String(text) }
        guard text.hasPrefix("["), text.hasSuffix("]") else { return nil }
        let inner = String(text.dropFirst().dropLast())
        return inet_pton(AF_INET6, inner, &six) == 1 ? inner : nil
    }

    /// The address in the usual notation.
    var phrase: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .off: "none"
        case .unreadable(let text): text
        }
    }
}
