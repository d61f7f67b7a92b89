import Foundation

/// The credentials in a file of the `~/.Xauthority` format (Xsecurity(7), Xau(3)).
struct XAuthority: Equatable {
    struct Entry: Equatable {
        /// The address family: 256 means this machine by its host name, 65535 means any machine.
        var family: UInt16
        var address: [UInt8]
        /// The number of the display in digits. An empty number matches any display.
        var number: [UInt8]
        var name: [UInt8]
        var data: [UInt8]
    }

    private(set) var entries: [Entry] = []

    /// The name of the authentication method that every server supports, and the only method whose data is sent
    /// unchanged.
    static let cookie = Array("MIT-MAGIC-COOKIE-1".utf8)
    /// The maximum size of the file in bytes. Larger files do not have this format.
    static let largestFile = 1 << 20

    /// Parses the entries, and stops at an entry that is truncated.
    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let family = Self.number(&rest) {
            guard let address = Self.text(&rest), let number = Self.text(&rest), let name = Self.text(&rest),
                let data = Self.text(&rest)
            else { return }
            entries.append(Entry(family: family, address: address, number: number, name: name, data: data))
        }
    }

    /// Returns the cookie for a display of this machine; nil if the file has no entry for it.
    func cookie(display: Int, host: String) -> [UInt8]? {
        entries.first {
            $0.name == Self.cookie && ($0.number.isEmpty || $0.number == Array("\(display)".utf8))
                && ($0.family == 65_535 || $0.family == 256 && $0.address == Array(host.utf8))
        }?.data
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
        guard rest.count >= 2 else { return nil }
        let bytes = Array(rest.prefix(2))
        rest = rest.dropFirst(2)
        return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    }

    private static func text(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let length = number(&rest), rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(Int(length)) }
        return Array(rest.prefix(Int(length)))
    }
}
