#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The state of the service's socket. It is determined without sending anything.
package enum ServiceSocket {
    package enum State: Hashable, Sendable {
        case accepting
        /// The state in which no process listens. Either there is no socket, or its file was left by a stopped service.
        case silent
        /// An error of the system (`errno`) that a start of the service would not resolve.
        case refused(Int32)
        /// The state in which another user listens, or could listen. The text explains why nothing is sent.
        case foreign(String)
    }

    package static func state(of path: String) -> State {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // This is the limit of the kernel, which includes the final NUL.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return .refused(ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .refused(errno) }
        defer { close(descriptor) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return SocketOwner.objection(to: descriptor, at: path).map(State.foreign) ?? .accepting }
        return errno == ENOENT || errno == ECONNREFUSED ? .silent : .refused(errno)
    }
}
