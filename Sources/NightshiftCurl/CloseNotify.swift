import CNightshift
import Glibc

/// Determines whether the peer ended a TLS connection (`close_notify`) or the connection was cut.
///
/// libcurl over OpenSSL treats both as the end of a body that only the end of the connection delimits. An attacker on
/// the network could truncate such a body, and it would look complete (RFC 8446, section 6.1). Other TLS libraries
/// report the difference.
struct CloseNotify {
    private let easy: UnsafeMutableRawPointer
    private(set) var isMissing = true

    /// Watches the exchange of `easy`; nil if it does not use TLS through OpenSSL.
    init?(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
        guard Self.shutdownState != nil, Self.session(easy) != nil else { return nil }
    }

    /// Reads the current state. It must be called until the exchange ends, because libcurl has no connection to inspect
    /// afterwards.
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

    /// `SSL_RECEIVED_SHUTDOWN`, part of OpenSSL's binary interface.
    private static let received: Int32 = 2

    private typealias GetShutdown = @convention(c) (UnsafeMutableRawPointer) -> Int32

    /// `SSL_get_shutdown`, looked up in the library that libcurl has loaded, so that nothing here has to link OpenSSL.
    private static let shutdownState: GetShutdown? = dlsym(nil, "SSL_get_shutdown").map {
        unsafeBitCast($0, to: GetShutdown.self)
    }
}
