import CNightshift
import Glibc

/// The creator of one exchange's sockets. It adds the sockets to the sockets of the loop. This object must exist as
/// long as the exchange.
final class SocketMaker {
    private let sockets: Sockets
    private let unixSocket: String?
    /// The `errno` with which the exchange's last socket could not be created. It is 0 if the socket was created.
    /// libcurl does not report this error (CURLINFO_OS_ERRNO).
    private var failure: Int32 = 0

    /// Prepares to create the sockets of one exchange.
    ///
    /// - Parameter unixSocket: The path of the Unix socket to connect to. Nil if the exchange connects to a host.
    init(_ sockets: Sockets, unixSocket: String? = nil) {
        self.sockets = sockets
        self.unixSocket = unixSocket
    }

    /// Sets the options so that this object opens the exchange's connections, and the loop's sockets close them.
    ///
    /// - Parameter idleSeconds: The maximum idle time of a connection that the exchange reuses.
    func set(_ options: inout EasyOptions, idleSeconds: Int? = nil) {
        sockets.set(&options)
        if let idleSeconds { options.set(CURLOPT_MAXAGE_CONN, idleSeconds) }
        options.set(CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
        options.setOpen { context, _, address in
            guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
            return Unmanaged<SocketMaker>.fromOpaque(context)._withUnsafeGuaranteedRef { maker in
                let socket = maker.sockets.make(address, for: maker.unixSocket)
                maker.failure = socket < 0 ? errno : 0
                return socket
            }
        }
    }

    /// Returns the kernel's error that ended an exchange, or 0 if there was no such error.
    func systemError(of easy: UnsafeMutableRawPointer, at code: CURLcode) -> Int32 {
        if code == CURLE_COULDNT_CONNECT, failure != 0 { return failure }
        var error = 0
        _ = nightshift_curl_get_long(easy, CURLINFO_OS_ERRNO, &error)
        return Int32(truncatingIfNeeded: error)
    }
}
