package import NightshiftAPI
import PushProtocol

/// An enrolment address from `nightshift-gateway enrolment create`: `nightshift-push://host:port/code`.
package struct PushAddress: Hashable, Sendable {
    /// The host, without the brackets of an IPv6 address.
    package var host: String
    package var port: Int
    package var code: String

    private static let scheme = "nightshift-push://"

    /// Parses an address.
    ///
    /// - Throws: a ``Problem`` that names the missing part.
    package init(_ text: String) throws(Problem) {
        func refused(_ why: String) -> Problem {
            .invalid(
                "\(why) 'nightshift-gateway enrolment create' prints a valid address.", pointer: "/url")
        }
        guard text.hasPrefix(Self.scheme) else {
            throw refused("An enrolment address must begin with '\(Self.scheme)'.")
        }
        let rest = text.dropFirst(Self.scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { throw refused("The code after the host is missing.") }
        var authority = rest[..<slash]
        code = String(rest[rest.index(after: slash)...])
        guard !code.isEmpty, code.utf8.count <= ProtocolLimits.codeLength,
            code.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw refused("The code is empty or too long.") }
        guard let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...]),
            (1...65_535).contains(port)
        else { throw refused("The port after the host is missing.") }
        self.port = port
        authority = authority[..<colon]
        if authority.hasPrefix("["), authority.hasSuffix("]") { authority = authority.dropFirst().dropLast() }
        host = String(authority)
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(Self.isOfHost) else {
            throw refused("'\(host)' is not a valid host.")
        }
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "_")].contains(byte)
        }
    }
}
