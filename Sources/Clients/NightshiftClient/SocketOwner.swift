import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A check of the socket's owner. It is made for every connection, before anything is sent.
///
/// Requests contain passwords, and clients trust the responses. A user who can create a socket at the path of the
/// service could read the passwords and forge responses.
package enum SocketOwner {
    /// The properties of a connection that the check needs.
    package struct Facts: Hashable, Sendable {
        /// The user of the listening process, as the kernel reports it (`SO_PEERCRED`, unix(7)).
        package var peer: UInt32
        /// The directory of the socket. Users who can write to it can replace the socket.
        package var directory: DirectoryFacts

        package init(peer: UInt32, directory: DirectoryFacts) {
            self.peer = peer
            self.directory = directory
        }
    }

    /// Returns a message that explains why nothing is sent to the socket, and what to do. Returns nil if the socket
    /// belongs to the user.
    ///
    /// A socket of root is refused as well: root does not serve other users, and can do anything without a socket.
    package static func objection(_ facts: Facts, user: UInt32, socket: String) -> String? {
        if facts.peer != user {
            return
                "The socket \(socket) belongs to a process of user \(facts.peer), but you are user \(user). Nothing "
                + "was sent. Run this as that user, use another directory with NIGHTSHIFT_HOME, or remove the socket."
        }
        // The service denies all other users access to the directory, so the group of the user needs no special
        // treatment.
        return facts.directory.flaw(for: DirectoryFacts.Viewer(user: user, privateGroup: nil)).map {
            "\($0.message) It contains the socket of the service, so nothing was sent. \($0.remedy)"
        }
    }

    /// Returns the message for a descriptor. A descriptor that is not connected has no peer and is accepted.
    package static func objection(to descriptor: Int32, at socket: String) -> String? {
        // These three values form the struct ucred, which glibc defines only with a feature macro: process, user,
        // group.
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
