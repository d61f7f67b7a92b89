package import NightshiftAPI

/// One HTTP request with everything libcurl has to know about how it travels.
package struct CurlRequest: Sendable {
    /// Absolute and encoded; `http` or `https`, without user name and password.
    package var url: String
    package var method: String
    package var headers: [CurlField]
    package var body: CurlBody
    /// Whether a body of more than 1 MiB waits until the server wants it (`Expect: 100-continue`).
    package var asksBeforeLargeBody = true
    /// Whether libcurl may send the body once more, unasked, where a connection kept from before turns out to be dead. What
    /// arrived over that one nobody knows.
    package var mayRepeatBody = true
    /// Sent to this URL's server only: libcurl follows no redirects here.
    package var credential: CurlCredential?
    /// Seconds without a byte in either direction, connecting included; nil waits for ever once it is connected.
    /// Time in which the exchange was paused on this side does not count.
    package var idleTimeout: Double?
    /// A Unix socket to connect to in place of the URL's host.
    package var unixSocket: String?
    /// Looks at the connections to ``unixSocket`` before the request is sent, and says why one is not to be used; nil where it
    /// may be, or is not connected yet. Called on the loop's thread with a descriptor.
    package var unixPeerObjection: (@Sendable (_ descriptor: Int32) -> String?)?
    /// Nil, or empty, for none. Variables of this process never count.
    package var proxy: String?
    /// A PEM file whose certificates are trusted in place of the system's.
    package var certificateAuthority: String?
    package var clientCertificate: String?
    package var clientKey: String?
    /// The oldest version of TLS that is spoken with the server, not with a proxy; nil is 1.2.
    package var minimumTLSVersion: TLSVersion?
    /// The newest one; nil is no bound.
    package var maximumTLSVersion: TLSVersion?
    package var tlsHook: (any CurlTLSHook)?
    /// Whether HTTP/2 is not offered.
    package var usesHTTP1 = false
    /// How the user name and password of ``proxy`` are shown.
    package var proxyScheme = CurlCredential.Scheme.basic
    /// Bytes per second, both directions together; nil is unlimited.
    package var rateLimit: Int64?
    /// From so many missing bytes on, the rest of a body over plain HTTP/1 is left in the socket for
    /// ``CurlDelegate/received(from:atMost:)``, and the connection serves no other request afterwards; nil: never.
    package var socketBodyBytes: Int64?

    package init(url: String, method: String = "GET", headers: [CurlField] = [], body: CurlBody = .none) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }

    /// A request to the server at a Unix socket.
    ///
    /// - Parameter path: with its query, encoded.
    package init(unixSocket: String, method: String, path: String) {
        self.init(url: "http://localhost" + path, method: method)
        self.unixSocket = unixSocket
    }
}

/// One header field as it is written or was read.
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
        /// Basic or Digest, whichever the server offers, Digest first. Costs a round trip to find out.
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
    /// Why this request must not be written to a connection, or nil: a line break in the wrong place would make it two.
    var flaw: String? {
        if method.isEmpty || !method.utf8.allSatisfy(Self.isTokenByte) { return "the method is not a token" }
        for field in headers {
            if field.name.isEmpty || !field.name.utf8.allSatisfy(Self.isTokenByte) {
                return "a header field's name is not a token"
            }
            if field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) {
                return "the header field \(field.name) holds a line break or a NUL"
            }
        }
        for text in [
            url, unixSocket, proxy, certificateAuthority, clientCertificate, clientKey, credential?.user,
            credential?.password,
        ] where text?.utf8.contains(0) == true {
            return "it holds a NUL"
        }
        return nil
    }

    /// RFC 9110, section 5.6.2.
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
