/// A reader of the kernel's table of TCP connections (proc(5), /proc/net/tcp), which finds the user of the process at
/// the other end of a local connection.
///
/// Another user could see a link or a secret in the arguments of a program, and could receive a cookie with a server on
/// another port. Therefore connections of other users are closed without a response.
package enum PeerUser {
    /// The ports of a connection on 127.0.0.1, as the peer sees them.
    package struct Connection: Hashable, Sendable {
        package var peerPort: Int
        package var ownPort: Int

        package init(peerPort: Int, ownPort: Int) {
            self.peerPort = peerPort
            self.ownPort = ownPort
        }
    }

    /// Returns the user who opened the peer's socket; nil if the table has no such established connection.
    ///
    /// - Parameters:
    ///   - table: the content of /proc/net/tcp, or of /proc/net/tcp6, where IPv4 addresses are mapped.
    ///   - loopback: 127.0.0.1 as this machine's kernel writes it: the number's bytes in the machine's order.
    package static func user(of connection: Connection, in table: String, loopback: String) -> UInt32? {
        let local = address(connection.peerPort, loopback)
        let remote = address(connection.ownPort, loopback)
        for line in table.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            // The table attributes closed sockets to root, so only an established one is trusted.
            guard words.count > 7, words[3] == established, isEnd(words[1], local), isEnd(words[2], remote) else {
                continue
            }
            return UInt32(words[7])
        }
        return nil
    }

    private static let established = "01"
    /// The prefix of an IPv4 address in the table for IPv6: ::ffff:0:0/96, in 32-bit words of either byte order.
    private static let mappedPrefixes = ["0000000000000000FFFF0000", "00000000000000000000FFFF"]

    private static func address(_ port: Int, _ loopback: String) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return loopback + ":" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func isEnd(_ word: Substring, _ address: String) -> Bool {
        word == address || mappedPrefixes.contains { word == $0 + address }
    }
}
