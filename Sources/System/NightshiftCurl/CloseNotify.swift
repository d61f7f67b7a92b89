import CNightshift
import Glibc

/// A check of whether the peer ended a TLS connection properly (`close_notify`) or the connection was cut.
///
/// If only the end of the connection marks the end of a body, libcurl over OpenSSL accepts both endings. An attacker on
/// the network could truncate such a body, and the body would look complete (RFC 8446, section 6.1). Other TLS
/// libraries report the difference.
struct CloseNotify {
    private let easy: UnsafeMutableRawPointer
    private(set) var isMissing = true

    /// Prepares to check the exchange of `easy`. Returns nil if the exchange does not use TLS through OpenSSL.
    init?(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
        guard Self.shutdownState != nil, Self.session(easy) != nil else { return nil }
    }

    /// Reads the current state. Call this method until the exchange ends, because afterwards libcurl has no connection
    /// to inspect.
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

    /// The value of `SSL_RECEIVED_SHUTDOWN`, which is part of OpenSSL's binary interface.
    private static let received: Int32 = 2

    private typealias GetShutdown = @convention(c) (UnsafeMutableRawPointer) -> Int32

    /// The function `SSL_get_shutdown`. It is looked up in the library that libcurl has loaded, so that this module
    /// does not have to link OpenSSL.
    private static let shutdownState: GetShutdown? = dlsym(nil, "SSL_get_shutdown").map {
        unsafeBitCast($0, to: GetShutdown.self)
    }
}
