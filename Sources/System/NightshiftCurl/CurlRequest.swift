package import NightshiftAPI

/// An HTTP request with all settings that libcurl needs to send it.
package struct CurlRequest: Sendable {
    /// The absolute and encoded URL, with the scheme `http` or `https` and without user name and password.
    package var url: String
    package var method: String
    package var headers: [CurlField]
    package var body: CurlBody
    /// Whether a body of more than 1 MiB is sent only after the server has agreed (`Expect: 100-continue`).
    package var asksBeforeLargeBody = true
    /// Whether libcurl may send the body again if a reused connection turns out to be dead. It is unknown how many
    /// bytes arrived over that connection.
    package var mayRepeatBody = true
    /// The credential for the server of this URL. It is not used for other servers, because libcurl does not follow
    /// redirects here.
    package var credential: CurlCredential?
    /// The timeout in seconds without a byte in either direction, including connecting. Nil disables the timeout once
    /// the request is connected. Time in which this side paused the exchange does not count.
    package var idleTimeout: Double?
    /// The path of a Unix socket to connect to instead of the URL's host.
    package var unixSocket: String?
    /// A closure that checks the connections to ``unixSocket`` before the request is sent. It returns the reason to
    /// reject a connection, or nil if the connection may be used or is not connected yet. It is called on the loop's
    /// thread with a descriptor.
    package var unixPeerObjection: (@Sendable (_ descriptor: Int32) -> String?)?
    /// The URL of a proxy. Nil or empty means no proxy. Environment variables of this process are ignored.
    package var proxy: String?
    /// The path of a PEM file whose certificates are trusted instead of the system's.
    package var certificateAuthority: String?
    package var clientCertificate: String?
    package var clientKey: String?
    /// The minimum TLS version for the server, but not for a proxy. Nil means 1.2.
    package var minimumTLSVersion: TLSVersion?
    /// The maximum TLS version for the server. Nil means no maximum.
    package var maximumTLSVersion: TLSVersion?
    package var tlsHook: (any CurlTLSHook)?
    /// Whether the request uses HTTP/1.1 and does not offer HTTP/2.
    package var usesHTTP1 = false
    /// The authentication scheme for the user name and password of ``proxy``.
    package var proxyScheme = CurlCredential.Scheme.basic
    /// The limit in bytes per second for both directions together. Nil means unlimited.
    package var rateLimit: Int64?
    /// The minimum number of missing bytes for which the rest of a body over plain HTTP/1 is left in the socket for
    /// ``CurlDelegate/received(from:atMost:)``. The connection is then not used for other requests. Nil disables this.
    package var socketBodyBytes: Int64?
    /// Whether and with which others the request yields to other traffic. Nil means that it does not.
    package var yields: CurlYield?

    package init(url: String, method: String = "GET", headers: [CurlField] = [], body: CurlBody = .none) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }

    /// Makes a request to the server at a Unix socket.
    ///
    /// - Parameter path: The encoded path with its query.
    package init(unixSocket: String, method: String, path: String) {
        self.init(url: "http://localhost" + path, method: method)
        self.unixSocket = unixSocket
    }
}

/// A header field of a request or a response.
package struct CurlField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    func isNamed(_ lowercasedName: String) -> Bool { name.lowercased() == lowercasedName }
}

package struct CurlCredential: Hashable, Sendable {
    package var user: String
    package var password: String
    package var scheme: Scheme

    package enum Scheme: Sendable {
        /// A scheme that the server chooses: Basic or Digest. Digest is preferred. Asking the server costs a round
        /// trip.
        case any
        case basic
        case digest
    }

    package init(user: String, password: String, scheme: Scheme) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}

extension CurlRequest {
    /// Whether the connection to the server uses TLS.
    package var isSecure: Bool { url.lowercased().hasPrefix("https:") }

    /// The reason why this request must not be sent, or nil if it may be. For example, a line break in the wrong place
    /// would split the request into two.
    var flaw: String? {
        if method.isEmpty || !method.utf8.allSatisfy(Self.isTokenByte) { return "the method is not a token" }
        for field in headers {
            if field.name.isEmpty || !field.name.utf8.allSatisfy(Self.isTokenByte) {
                return "a header field's name is not a token"
            }
            if field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) {
                return "the header field \(field.name) contains a line break or a NUL byte"
            }
        }
        for text in [
            url, unixSocket, proxy, certificateAuthority, clientCertificate, clientKey, credential?.user,
            credential?.password,
        ] where text?.utf8.contains(0) == true {
            return "a setting contains a NUL byte"
        }
        return nil
    }

    /// Returns whether a byte may occur in a token (RFC 9110, section 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
