import Glibc
import NIOCore

/// The process that opened a connection, as the kernel identifies it.
struct Caller: Hashable, Sendable {
    var user: uid_t
    /// The id of the process that opened the connection. It is 0 for a process in another PID namespace, which has no
    /// id here.
    var process: pid_t

    /// Returns whether the caller is the owner of the service or root. Root is allowed because root could become the
    /// owner anyway, and a refusal would only break `sudo`.
    func isAllowed(owner: uid_t) -> Bool {
        user == owner || user == 0
    }

    /// Returns the process that opened an accepted connection, even if another process holds the descriptor now
    /// (`SO_PEERCRED`, unix(7)).
    static func of(_ channel: any Channel) -> EventLoopFuture<Caller> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        // `unsafe` is needed because of the result type: three 32-bit numbers, the struct ucred of unix(7).
        let credentials: EventLoopFuture<(process: pid_t, user: uid_t, group: gid_t)> =
            provider.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return credentials.map { Caller(user: $0.user, process: $0.process) }
    }
}
