/// Whose process is at the other end of a TCP connection on this machine, from the kernel's own table (proc(5), /proc/net/tcp).
///
/// The link and the cookie could be seen by another user: the one in the arguments of the program that opens the browser,
/// the other by a server of his on another port. Neither is of use to him, since his connections are not answered.
enum PeerUser {
    /// Both ends of a connection as the peer has them: on 127.0.0.1 each.
    struct Connection: Hashable, Sendable {
        var peerPort: Int
        var ownPort: Int
    }

    /// The user who opened the peer's socket; nil where the table has no such connection that stands.
    ///
    /// - Parameters:
    ///   - table: the file for IPv4 or that for IPv6, where IPv4 addresses are mapped.
    ///   - loopback: 127.0.0.1 as this machine's kernel writes it: the number's bytes in the machine's order.
    static func user(of connection: Connection, in table: String, loopback: String) -> UInt32? {
        let local = address(connection.peerPort, loopback)
        let remote = address(connection.ownPort, loopback)
        for line in table.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            // A socket that its process has closed counts as root's: only one that is open says whose it is.
            guard words.count > 7, words[3] == established, isEnd(words[1], local), isEnd(words[2], remote) else {
                continue
            }
            return UInt32(words[7])
        }
        return nil
    }

    private static let established = "01"
    /// Before an IPv4 address in the table for IPv6: ::ffff:0:0/96, in words of 32 bits in the machine's order.
    private static let mappedPrefixes = ["0000000000000000FFFF0000", "00000000000000000000FFFF"]

    private static func address(_ port: Int, _ loopback: String) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return loopback + ":" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func isEnd(_ word: Substring, _ address: String) -> Bool {
        word == address || mappedPrefixes.contains { word == $0 + address }
    }
}
