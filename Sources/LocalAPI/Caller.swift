import Glibc
import NIOCore

/// The process at the other end of a connection, as the kernel identifies it.
struct Caller: Hashable, Sendable {
    var user: uid_t
    /// The process that opened the connection; 0 where the kernel has no number for it here, as from another PID namespace.
    var process: pid_t

    /// Only the service's owner. Root too: it could become the owner, and refusing it would only break `sudo`.
    func isAllowed(owner: uid_t) -> Bool {
        user == owner || user == 0
    }

    /// The caller behind an accepted connection: who connected, whoever holds the descriptor now (`SO_PEERCRED`,
    /// unix(7)).
    static func of(_ channel: any Channel) -> EventLoopFuture<Caller> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        // `unsafe` is the type of the answer: three 32-bit numbers, the struct ucred of unix(7).
        let credentials: EventLoopFuture<(process: pid_t, user: uid_t, group: gid_t)> =
            provider.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.map { Caller(user: $0.user, process: $0.process) }
    }
}
