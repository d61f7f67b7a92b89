import CNightshift
import Glibc

/// Whether a TLS connection was ended by its peer (`close_notify`) or just cut off.
///
/// libcurl over OpenSSL takes both for the end of a body that only the connection's end delimits: anybody on the way
/// could shorten it, and it would look whole (RFC 8446, section 6.1). Other TLS libraries report the difference.
struct CloseNotify {
    private let easy: UnsafeMutableRawPointer
    private(set) var isMissing = true

    /// Watches the exchange of `easy`; nil where there is nothing to watch.
    init?(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
        guard Self.shutdownState != nil, Self.session(easy) != nil else { return nil }
    }

    /// To be called until the very end: afterwards libcurl has no connection to ask.
    mutating func update() {
        guard let session = Self.session(easy), let state = Self.shutdownState?(session) else { return }
        isMissing = state & Self.received == 0
    }

    private static func session(_ easy: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        var info: UnsafeMutablePointer<curl_tlssessioninfo>?
        guard nightshift_curl_get_tls_session(easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK, let info,
            info.pointee.backend == CURLSSLBACKEND_OPENSSL
        else { return nil }
        return info.pointee.internals
    }

    /// `SSL_RECEIVED_SHUTDOWN`; part of OpenSSL's binary interface.
    private static let received: Int32 = 2

    private typealias GetShutdown = @convention(c) (UnsafeMutableRawPointer) -> Int32

    /// `SSL_get_shutdown`, looked up where libcurl has loaded it: so nothing here has to link OpenSSL.
    private static let shutdownState: GetShutdown? = dlsym(nil, "SSL_get_shutdown").map {
        unsafeBitCast($0, to: GetShutdown.self)
    }
}
