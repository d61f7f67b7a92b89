import Glibc
package import NIOCore
import NightshiftAPI

/// The check which user's process has connected.
package enum PeerCheck {
    /// Returns whether the peer belongs to this user or to root. Returns false if the kernel does not report the user.
    package static func isOwn(_ channel: any Channel) -> Bool {
        guard let peer = channel.remoteAddress?.port, let own = channel.localAddress?.port else { return false }
        let connection = PeerUser.Connection(peerPort: peer, ownPort: own)
        for _ in 0..<mostLooks {
            for name in ["tcp", "tcp6"] {
                guard let table = KernelFile.text("/proc/self/net/\(name)"),
                    let user = PeerUser.user(of: connection, in: table, loopback: loopback)
                else { continue }
                return user == geteuid() || user == 0
            }
        }
        return false
    }

    /// The maximum number of times that the table is read. The kernel returns the table in pieces, and a change between
    /// two pieces may hide a line.
    private static let mostLooks = 3

    private static let loopback: String = {
        let digits = String(in_addr_t(INADDR_LOOPBACK).bigEndian, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }()
}
