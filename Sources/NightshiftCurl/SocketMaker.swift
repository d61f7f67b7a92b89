import CNightshift
import Glibc

/// Makes the sockets of one exchange, among those of its loop. Has to live as long as the exchange.
final class SocketMaker {
    private let sockets: Sockets
    private let unixSocket: String?
    /// Why the exchange's last socket could not be made; 0 where it was. libcurl does not tell (CURLINFO_OS_ERRNO).
    private var failure: Int32 = 0

    /// - Parameter unixSocket: where its connections lead to, if not to a host.
    init(_ sockets: Sockets, unixSocket: String? = nil) {
        self.sockets = sockets
        self.unixSocket = unixSocket
    }

    /// Has the connections of the exchange opened here, and closed by its loop's sockets.
    ///
    /// - Parameter idleSeconds: seconds for which a kept connection may have been idle, where the exchange takes one.
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

    /// The kernel's reason for an exchange's end; 0 where there is none.
    func systemError(of easy: UnsafeMutableRawPointer, at code: CURLcode) -> Int32 {
        if code == CURLE_COULDNT_CONNECT, failure != 0 { return failure }
        var error = 0
        _ = nightshift_curl_get_long(easy, CURLINFO_OS_ERRNO, &error)
        return Int32(truncatingIfNeeded: error)
    }
}
