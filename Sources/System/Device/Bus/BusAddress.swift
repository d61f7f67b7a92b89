/// A parser of message bus addresses in the form of the D-Bus specification: `unix:path=/run/dbus/system_bus_socket`.
enum BusAddress {
    /// The default address of the system bus. The specification names /var/run, which is a link to /run.
    static let wellKnown = "unix:path=/run/dbus/system_bus_socket"

    /// Returns the socket paths of all alternatives in an address.
    static func socketPaths(_ address: String) -> [String] {
        address.split(separator: ";").compactMap { alternative in
            guard alternative.hasPrefix("unix:") else { return nil }
            let pairs = alternative.dropFirst("unix:".count).split(separator: ",")
            return pairs.first { $0.hasPrefix("path=") }.map { unescaped($0.dropFirst("path=".count)) }
        }
    }

    /// Returns the text with all escaped bytes decoded. An escaped byte is written as % and two hexadecimal digits.
    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
