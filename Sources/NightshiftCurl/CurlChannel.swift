/// The target and the settings of a channel.
package struct CurlChannelRequest: Hashable, Sendable {
    /// A host name or an IP address; an IPv6 address has no brackets.
    package var host: String
    package var port: Int
    /// A PEM file of the authorities that may have signed the server's certificate; nil for the system's.
    package var certificateAuthority: String?
    /// The URL of a proxy through which a tunnel is made; nil or empty for no proxy.
    package var proxy: String?
    /// Seconds until the TLS connection must be established.
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
    /// Called when TLS is established and the server's certificate is verified.
    func opened()

    /// Receives the next bytes, at least one. No more bytes are read before ``CurlChannel/resume()``.
    func received(_ bytes: [UInt8])

    /// Called exactly once, as the last call. The code 0 means that the peer closed the connection.
    func ended(_ end: CurlEnd)
}

/// One TLS connection on a ``CurlLoop`` for a protocol other than HTTP. All methods may be called on any thread, and
/// have no effect once the channel has ended.
///
/// No ALPN is offered.
package struct CurlChannel: Sendable {
    let id: Int
    let loop: CurlLoop

    /// The maximum number of bytes waiting to be sent. A peer that leaves more of them unread is disconnected.
    package static let outputLimit = 1 << 20
    /// The maximum number of bytes delivered at once.
    package static let pieceBytes = 16_384

    package func send(_ bytes: [UInt8]) {
        loop.post(.channel(id, .send(bytes)))
    }

    /// Accepts the received bytes and lets the next ones be delivered.
    package func resume() {
        loop.post(.channel(id, .resume))
    }

    /// Sends the bytes that fit into the socket without waiting, and ends the connection.
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
