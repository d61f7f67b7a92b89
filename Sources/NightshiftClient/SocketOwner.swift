import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The owner of the service's socket: checked on every connection, before anything is sent over it.
///
/// Requests hold passwords, and answers are believed. Whoever can put a socket of his own at the service's path would get the
/// one and could forge the other.
package enum SocketOwner {
    /// The facts about a connection that the check needs.
    package struct Facts: Hashable, Sendable {
        /// The user whose process listens, as the kernel says (`SO_PEERCRED`, unix(7)).
        package var peer: UInt32
        /// The directory of the socket: who else may write there may replace the socket.
        package var directory: DirectoryFacts

        package init(peer: UInt32, directory: DirectoryFacts) {
            self.peer = peer
            self.directory = directory
        }
    }

    /// Why nothing is to be said to whoever listens there: what was found, and what to do. Nil where it is the user's own.
    ///
    /// Root's is not the user's own either: root does not serve others, and may do what it likes without a socket.
    package static func objection(_ facts: Facts, user: UInt32, socket: String) -> String? {
        if facts.peer != user {
            return
                "The socket \(socket) belongs to a process of user \(facts.peer), but you are user \(user). Nothing "
                + "was sent. Run this as that user, use another directory with NIGHTSHIFT_HOME, or remove the socket."
        }
        // The service closes the directory to all others, so that it needs no exception for a group of the user's own.
        return facts.directory.flaw(for: DirectoryFacts.Viewer(user: user, privateGroup: nil)).map {
            "\($0.message) It contains the socket of the service, so nothing was sent. \($0.remedy)"
        }
    }

    /// The same of a descriptor. One that is not connected has no peer, and hears nothing.
    package static func objection(to descriptor: Int32, at socket: String) -> String? {
        // struct ucred, which glibc keeps behind a feature macro: process, user, group.
        var credentials: (Int32, uid_t, gid_t) = (0, uid_t.max, gid_t.max)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            return
                "The owner of the socket \(socket) is unknown: \(String(cString: strerror(errno))). Nothing was sent."
        }
        guard credentials.1 != UInt32.max else { return nil }
        let directory = URL(filePath: socket).deletingLastPathComponent().path(percentEncoded: false)
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return "The directory \(directory) of the service's socket cannot be examined: "
                + "\(String(cString: strerror(errno))). Nothing was sent."
        }
        let facts = DirectoryFacts(
            path: directory, owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
        return objection(Facts(peer: credentials.1, directory: facts), user: geteuid(), socket: socket)
    }
}
