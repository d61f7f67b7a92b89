/// The target and the settings of a channel.
package struct CurlChannelRequest: Hashable, Sendable {
    /// A host name or an IP address. An IPv6 address has no brackets.
    package var host: String
    package var port: Int
    /// The path of a PEM file with the authorities that may have signed the server's certificate. Nil means the
    /// system's authorities.
    package var certificateAuthority: String?
    /// The URL of the proxy through which a tunnel is made. Nil or empty means no proxy.
    package var proxy: String?
    /// The time in seconds within which the TLS connection must be established.
    package var timeout: Double

    package init(host: String, port: Int, certificateAuthority: String? = nil, timeout: Double = 30) {
        self.host = host
        self.port = port
        self.certificateAuthority = certificateAuthority
        self.timeout = timeout
    }

    package var url: String { "https://\(host.contains(":") ? "[\(host)]" : host):\(port)/" }
}

/// The receiver of a channel's events. It is called on the loop's thread, in order, and must not block.
package protocol CurlChannelDelegate: AnyObject, Sendable {
    /// Called when the TLS connection is established and the server's certificate is verified.
    func opened()

    /// Receives the next bytes, at least one. More bytes are read only after a call to ``CurlChannel/resume()``.
    func received(_ bytes: [UInt8])

    /// Handles the end of the channel. This is the last call, and it is made exactly once. The code 0 means that the
    /// peer closed the connection.
    func ended(_ end: CurlEnd)
}

/// A TLS connection on a ``CurlLoop`` for a protocol other than HTTP. All methods may be called on any thread, and have
/// no effect once the channel has ended.
///
/// The connection does not offer an application protocol (ALPN).
package struct CurlChannel: Sendable {
    let id: Int
    let loop: CurlLoop

    /// The maximum number of bytes waiting to be sent. If more bytes wait because the peer does not read, the
    /// connection is closed.
    package static let outputLimit = 1 << 20
    /// The maximum number of bytes delivered at once.
    package static let pieceBytes = 16_384

    package func send(_ bytes: [UInt8]) {
        loop.post(.channel(id, .send(bytes)))
    }

    /// Accepts the received bytes, so that the delegate receives the next ones.
    package func resume() {
        loop.post(.channel(id, .resume))
    }

    /// Ends the connection after sending the bytes that fit into the socket without waiting.
    package func close() {
        loop.post(.channel(id, .close))
    }

    enum Command: Sendable {
        case open(CurlChannelRequest, any CurlChannelDelegate)
        case send([UInt8])
        case resume
        case close
    }
}

extension CurlLoop {
    /// Opens a connection and returns at once. The delegate is retained until the connection has ended.
    package func open(_ request: CurlChannelRequest, delegate: any CurlChannelDelegate) -> CurlChannel {
        let channel = CurlChannel(id: nextID(), loop: self)
        post(.channel(channel.id, .open(request, delegate)))
        return channel
    }
}
