import CNightshift
import Glibc

/// The sockets of a loop's connections, which libcurl opens and closes through this class.
///
/// libcurl itself reports only the ports of a running exchange, not its socket.
final class Sockets {
    private var open: Set<Int32> = []
    /// The paths of the sockets that are connected to a Unix socket.
    private var unixSockets: [Int32: String] = [:]

    /// A callback for a socket that is about to be closed. Its number may then belong to another connection.
    var willClose: (Int32) -> Void = { _ in }

    /// Returns the socket of a connection, or nil if the connection is not in this list or not unique.
    func socket(localPort: Int32, peerPort: Int32) -> Int32? {
        let matching = open.filter {
            Self.port($0, getsockname) == localPort && Self.port($0, getpeername) == peerPort
        }
        return matching.count == 1 ? matching.first : nil
    }

    /// Sets the options with which this object closes the connections of an exchange. This object must outlive all of
    /// them.
    func set(_ options: inout EasyOptions) {
        options.set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
        options.setClose { context, socket in
            guard let context else { return 0 }
            Unmanaged<Sockets>.fromOpaque(context)._withUnsafeGuaranteedRef { sockets in
                sockets.willClose(socket)
                sockets.open.remove(socket)
                sockets.unixSockets[socket] = nil
            }
            return close(socket)
        }
    }

    /// Returns the sockets of all connections to a Unix socket: those in use, idle, or being opened.
    func sockets(at path: String) -> [Int32] {
        unixSockets.filter { $0.value == path }.map(\.key)
    }

    /// Creates the socket of a new connection. Returns -1 and sets `errno` on failure.
    func make(_ address: curl_sockaddr, for unixSocket: String?) -> Int32 {
        guard !nightshift_lacks_descriptors() else { return CURL_SOCKET_BAD }
        let socket = Glibc.socket(address.family, address.socktype | Self.closeOnExec, address.protocol)
        guard socket >= 0 else { return CURL_SOCKET_BAD }
        open.insert(socket)
        unixSockets[socket] = unixSocket
        return socket
    }

    private static let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

    /// Returns the port in one of a socket's addresses, or nil if the address has no port.
    private static func port(
        _ socket: Int32, _ address: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> Int32? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            guard address(socket, raw.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return nil }
            switch Int32(storage.pointee.ss_family) {
            case AF_INET: return Int32(UInt16(bigEndian: raw.load(as: sockaddr_in.self).sin_port))
            case AF_INET6: return Int32(UInt16(bigEndian: raw.load(as: sockaddr_in6.self).sin6_port))
            default: return nil
            }
        }
    }
}
