import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
import NightshiftAPI

/// The socket on which the local API listens.
package enum ListeningSocket: Hashable, Sendable {
    /// A new socket at this path, with mode 0600. The caller has locked the instance lock, so any existing socket there
    /// is stale.
    case path(String)
    /// A listening Unix stream socket that the service manager opened (`sd_listen_fds(3)`).
    case inherited(descriptor: Int32)

    /// Returns a listening descriptor, which the caller owns.
    func open() throws(LocalAPIError) -> Int32 {
        switch self {
        case .path(let path): try Self.bind(path)
        case .inherited(let descriptor): try Self.check(descriptor)
        }
    }

    /// The length of the queue of unaccepted connections. It equals the kernel's usual limit, net.core.somaxconn.
    private static let backlog: Int32 = 4096

    private static func bind(_ path: String) throws(LocalAPIError) -> Int32 {
        try checkDirectory(of: path)
        try removeStaleSocket(path)
        var address = try address(of: path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw systemError("A socket cannot be created") }
        // Linux gives the file the mode of the unbound socket. The permissions are therefore never wider, and the umask
        // of the process can stay unchanged.
        let bound =
            fchmod(descriptor, 0o600) == 0
            && withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
            && listen(descriptor, backlog) == 0
        guard bound else {
            let error = systemError("The socket '\(path)' cannot be opened")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Creates the directory if it is missing, and checks its permissions. A user who can write to the directory could
    /// replace the socket.
    private static func checkDirectory(of path: String) throws(LocalAPIError) {
        guard path.hasPrefix("/") else {
            throw LocalAPIError(.unusablePath, "The path of the socket must be absolute: '\(path)'.")
        }
        let directory = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw systemError("The directory '\(directory)' of the socket cannot be created")
        }
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw systemError("The directory '\(directory)' of the socket cannot be used")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw LocalAPIError(.unusablePath, "'\(directory)' must be a directory.")
        }
        let facts = DirectoryFacts(
            path: directory, owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
        if let flaw = facts.flaw(for: DirectoryFacts.Viewer(user: geteuid(), privateGroup: nil)) {
            throw LocalAPIError(.unusablePath, "\(flaw.message) \(flaw.remedy)")
        }
    }

    private static func removeStaleSocket(_ path: String) throws(LocalAPIError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw LocalAPIError(.unusablePath, "'\(path)' exists and is not a socket. It was not removed.")
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw systemError("The old socket '\(path)' cannot be removed")
        }
    }

    private static func address(of path: String) throws(LocalAPIError) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < capacity else {
            throw LocalAPIError(
                .unusablePath,
                "The path of the socket has \(bytes.count) bytes, but Linux allows only \(capacity - 1): '\(path)'.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    private static func check(_ descriptor: Int32) throws(LocalAPIError) -> Int32 {
        guard
            option(SO_DOMAIN, of: descriptor) == AF_UNIX,
            option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue),
            option(SO_ACCEPTCONN, of: descriptor) == 1
        else {
            throw LocalAPIError(
                .unusableDescriptor, "Descriptor \(descriptor) is not a listening Unix stream socket.")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    private static func systemError(_ what: String) -> LocalAPIError {
        LocalAPIError(.system, "\(what): \(String(cString: strerror(errno))).")
    }
}
