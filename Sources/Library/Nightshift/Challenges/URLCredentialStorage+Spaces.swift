import Foundation
import FoundationNetworking

extension URLCredentialStorage {
    /// Returns the default credential of a stored protection space with the same values.
    ///
    /// FoundationNetworking's own look-up cannot be used, because it treats two spaces as equal only if they are the
    /// same object. Every challenge has a new object.
    func defaultCredential(matching space: URLProtectionSpace) -> URLCredential? {
        if let credential = defaultCredential(for: space) { return credential }
        // The storage does not record which of several credentials was added last. The credentials are sorted by user,
        // so that the same credential is always selected.
        return allCredentials.keys.filter { $0.matches(space) }.compactMap { defaultCredential(for: $0) }
            .min { ($0.user ?? "") < ($1.user ?? "") }
    }
}

extension URLProtectionSpace {
    fileprivate func matches(_ other: URLProtectionSpace) -> Bool {
        isProxy() == other.isProxy() && host.lowercased() == other.host.lowercased() && port == other.port
            && scheme == other.scheme && realm == other.realm && method == other.method
    }

    /// The URL scheme of the protection space. It is derived from FoundationNetworking's protocol constants, which,
    /// unlike Apple's, differ from URL schemes.
    private var scheme: String? {
        switch isProxy() ? proxyType : self.protocol {
        case NSURLProtectionSpaceHTTP, NSURLProtectionSpaceHTTPProxy: "http"
        case NSURLProtectionSpaceHTTPS, NSURLProtectionSpaceHTTPSProxy: "https"
        case let other: other?.lowercased()
        }
    }

    /// The authentication method. The default method counts as Basic.
    private var method: String {
        authenticationMethod == NSURLAuthenticationMethodDefault
            ? NSURLAuthenticationMethodHTTPBasic : authenticationMethod
    }
}
