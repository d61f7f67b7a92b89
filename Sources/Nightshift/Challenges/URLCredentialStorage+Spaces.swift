import Foundation
import FoundationNetworking

extension URLCredentialStorage {
    /// The default credential of the protection space that says the same.
    ///
    /// FoundationNetworking's own look-up takes spaces for equal only where they are one object, and that of a challenge is new.
    func defaultCredential(matching space: URLProtectionSpace) -> URLCredential? {
        if let credential = defaultCredential(for: space) { return credential }
        // Which of several was put in last, nobody knows: always the same one.
        return allCredentials.keys.filter { $0.matches(space) }.compactMap { defaultCredential(for: $0) }
            .min { ($0.user ?? "") < ($1.user ?? "") }
    }
}

extension URLProtectionSpace {
    fileprivate func matches(_ other: URLProtectionSpace) -> Bool {
        isProxy() == other.isProxy() && host.lowercased() == other.host.lowercased() && port == other.port
            && scheme == other.scheme && realm == other.realm && method == other.method
    }

    /// In the words of URLs: FoundationNetworking's constants have others, Apple's the same.
    private var scheme: String? {
        switch isProxy() ? proxyType : self.protocol {
        case NSURLProtectionSpaceHTTP, NSURLProtectionSpaceHTTPProxy: "http"
        case NSURLProtectionSpaceHTTPS, NSURLProtectionSpaceHTTPSProxy: "https"
        case let other: other?.lowercased()
        }
    }

    /// What HTTP does where nothing is said is Basic.
    private var method: String {
        authenticationMethod == NSURLAuthenticationMethodDefault
            ? NSURLAuthenticationMethodHTTPBasic : authenticationMethod
    }
}
