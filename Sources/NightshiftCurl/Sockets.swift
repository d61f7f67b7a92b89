import CNightshift
import Glibc

/// The sockets of a loop's connections, which libcurl opens and closes through here.
///
/// libcurl itself does not tell which socket an exchange has while it runs, only between which ports.
final class Sockets {
    private var open: Set<Int32> = []
    /// Which Unix socket they lead to, of those that were made for one.
    private var unixSockets: [Int32: String] = [:]
    /// Why the last socket could not be made; 0 where it was. libcurl does not tell (CURLINFO_OS_ERRNO).
    private(set) var failure: Int32 = 0

    /// The socket of a connection; nil where it is not one of these, or cannot be told from another.
    func socket(localPort: Int32, peerPort: Int32) -> Int32? {
        let matching = open.filter {
            Self.port($0, getsockname) == localPort && Self.port($0, getpeername) == peerPort
        }
        return matching.count == 1 ? matching.first : nil
    }

    /// Has the connections of an exchange opened and closed here. This has to live longer than any of them.
    func set(_ options: inout EasyOptions) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_OPENSOCKETDATA, context)
        options.set(CURLOPT_CLOSESOCKETDATA, context)
        options.setOpen { context, _, address in
            guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
            return Unmanaged<Sockets>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.make(address) }
        }
        options.setClose { context, socket in
            guard let context else { return 0 }
            Unmanaged<Sockets>.fromOpaque(context)._withUnsafeGuaranteedRef { sockets in
                sockets.open.remove(socket)
                sockets.unixSockets[socket] = nil
            }
            return close(socket)
        }
    }

    /// Has the connections of a transfer to a Unix socket opened here as well, to know them by its path.
    ///
    /// - Parameter transfer: lives as long as connections are opened for it.
    func set(_ options: inout EasyOptions, openingFor transfer: Transfer) {
        options.set(CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(transfer).toOpaque())
        options.setOpen { context, _, address in
            guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
            return Unmanaged<Transfer>.fromOpaque(context)._withUnsafeGuaranteedRef { transfer in
                let socket = transfer.core.sockets.make(address)
                if socket >= 0 { transfer.core.sockets.unixSockets[socket] = transfer.request.unixSocket }
                return socket
            }
        }
    }

    /// Every connection to a Unix socket, in use, kept, or still being made.
    func sockets(at path: String) -> [Int32] {
        unixSockets.filter { $0.value == path }.map(\.key)
    }

    private func make(_ address: curl_sockaddr) -> Int32 {
        let socket =
            nightshift_lacks_descriptors()
            ? CURL_SOCKET_BAD : Glibc.socket(address.family, address.socktype | Self.closeOnExec, address.protocol)
        failure = socket < 0 ? errno : 0
        if socket >= 0 { open.insert(socket) }
        return socket
    }

    private static let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

    /// The port in one of a socket's addresses; nil where it has none.
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
