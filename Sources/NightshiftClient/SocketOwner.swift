import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Whose socket the service's socket is: looked at on every connection, before anything is said over it.
///
/// Requests hold passwords, and answers are believed. Whoever can put a socket of his own at the service's path would get the
/// one and could forge the other.
package enum SocketOwner {
    /// What there is to be seen of a connection.
    package struct Facts: Hashable, Sendable {
        /// The user whose process listens, as the kernel says (`SO_PEERCRED`, unix(7)).
        package var peer: UInt32
        /// The directory of the socket: who else may write there may replace the socket.
        package var directoryOwner: UInt32
        package var directoryMode: UInt32

        package init(peer: UInt32, directoryOwner: UInt32, directoryMode: UInt32) {
            self.peer = peer
            self.directoryOwner = directoryOwner
            self.directoryMode = directoryMode
        }
    }

    /// Why nothing is to be said to whoever listens there: what was found, and what to do. Nil where it is the user's own.
    ///
    /// Root's is not the user's own either: root does not serve others, and may do what it likes without a socket.
    package static func objection(_ facts: Facts, user: UInt32, socket: String) -> String? {
        let directory = URL(filePath: socket).deletingLastPathComponent().path(percentEncoded: false)
        if facts.peer != user {
            return
                "The socket \(socket) belongs to a process of user \(facts.peer), and you are user \(user). Nothing was "
                + "sent. Use the service as that user, or have it elsewhere with NIGHTSHIFT_HOME, or remove the socket."
        }
        if facts.directoryOwner != user {
            return
                "The directory \(directory) of the service's socket belongs to user \(facts.directoryOwner), and you are "
                + "user \(user). Nothing was sent. Have the service elsewhere, with NIGHTSHIFT_HOME or XDG_RUNTIME_DIR."
        }
        if facts.directoryMode & 0o022 != 0 {
            let mode = String(facts.directoryMode & 0o7777, radix: 8)
            return
                "Other users may write in the directory \(directory) of the service's socket (its mode is \(mode)), and "
                + "could put their own there. Nothing was sent. Close it with: chmod 700 '\(directory)'"
        }
        return nil
    }

    /// The same of a descriptor. One that is not connected has no peer, and hears nothing.
    package static func objection(to descriptor: Int32, at socket: String) -> String? {
        // struct ucred, which glibc keeps behind a feature macro: process, user, group.
        var credentials: (Int32, uid_t, gid_t) = (0, uid_t.max, gid_t.max)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            return
                "The kernel does not say whose the socket \(socket) is: \(String(cString: strerror(errno))). Nothing was sent."
        }
        guard credentials.1 != UInt32.max else { return nil }
        let directory = URL(filePath: socket).deletingLastPathComponent().path(percentEncoded: false)
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return "The directory \(directory) of the service's socket cannot be looked at: "
                + "\(String(cString: strerror(errno))). Nothing was sent."
        }
        return objection(
            Facts(peer: credentials.1, directoryOwner: status.st_uid, directoryMode: status.st_mode), user: geteuid(),
            socket: socket)
    }
}
