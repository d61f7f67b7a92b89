import CNightshift
import Glibc

/// Creates the sockets of one exchange among those of its loop. It must live as long as the exchange.
final class SocketMaker {
    private let sockets: Sockets
    private let unixSocket: String?
    /// The `errno` with which the exchange's last socket could not be created; 0 if it was. libcurl does not report it
    /// (CURLINFO_OS_ERRNO).
    private var failure: Int32 = 0

    /// - Parameter unixSocket: the Unix socket that the connections lead to, if they do not lead to a host.
    init(_ sockets: Sockets, unixSocket: String? = nil) {
        self.sockets = sockets
        self.unixSocket = unixSocket
    }

    /// Sets the options by which the connections of the exchange are opened here and closed by its loop's sockets.
    ///
    /// - Parameter idleSeconds: the maximum idle time of a connection that the exchange reuses.
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

    /// The kernel's error that ended an exchange; 0 if there was no such error.
    func systemError(of easy: UnsafeMutableRawPointer, at code: CURLcode) -> Int32 {
        if code == CURLE_COULDNT_CONNECT, failure != 0 { return failure }
        var error = 0
        _ = nightshift_curl_get_long(easy, CURLINFO_OS_ERRNO, &error)
        return Int32(truncatingIfNeeded: error)
    }
}
