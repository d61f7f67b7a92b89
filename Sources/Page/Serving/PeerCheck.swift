import Glibc
import NIOCore

/// Looks up whose process has connected.
enum PeerCheck {
    /// Whether the peer belongs to this user, or to root, who could become him. Not where nothing says whose it is.
    static func isOwn(_ channel: any Channel) -> Bool {
        guard let peer = channel.remoteAddress?.port, let own = channel.localAddress?.port else { return false }
        let connection = PeerUser.Connection(peerPort: peer, ownPort: own)
        for _ in 0..<mostLooks {
            for name in ["tcp", "tcp6"] {
                guard let table = text(of: "/proc/self/net/\(name)"),
                    let user = PeerUser.user(of: connection, in: table, loopback: loopback)
                else { continue }
                return user == geteuid() || user == 0
            }
        }
        return false
    }

    /// The kernel writes the table piece by piece, and one that changes meanwhile may lack a line.
    private static let mostLooks = 3

    private static let loopback: String = {
        let digits = String(in_addr_t(INADDR_LOOPBACK).bigEndian, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }()

    /// To its end: files of the kernel have no length, and are read in pieces shorter than what was asked for.
    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }
}
