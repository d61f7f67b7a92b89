/// Where a channel leads.
package struct CurlChannelRequest: Hashable, Sendable {
    /// A name or an address, an IPv6 one without brackets.
    package var host: String
    package var port: Int
    /// PEM file of the authorities that may have signed the server's certificate; the system's unless given.
    package var certificateAuthority: String?
    /// The URL of a proxy that makes a tunnel; nil, or empty, for none.
    package var proxy: String?
    /// Seconds until TLS has to stand.
    package var patience: Double

    package init(host: String, port: Int, certificateAuthority: String? = nil, patience: Double = 30) {
        self.host = host
        self.port = port
        self.certificateAuthority = certificateAuthority
        self.patience = patience
    }

    package var url: String { "https://\(host.contains(":") ? "[\(host)]" : host):\(port)/" }
}

/// The receiver of a channel's events. It is called on the loop's thread, in order, and must not block.
package protocol CurlChannelDelegate: AnyObject, Sendable {
    /// TLS stands, and the server's certificate is good.
    func opened()

    /// The next bytes, at least one. Nothing more is read before ``CurlChannel/resume()``.
    func received(_ bytes: [UInt8])

    /// Exactly once, last. The code 0 says that the other side has closed the connection.
    func ended(_ end: CurlEnd)
}

/// One TLS connection on a ``CurlLoop`` that carries a protocol of its own; all calls are for any thread and do nothing once it has
/// ended.
///
/// No ALPN is offered.
package struct CurlChannel: Sendable {
    let id: Int
    let loop: CurlLoop

    /// Bytes that may wait to be sent. A peer that leaves more of them unread is disconnected.
    package static let outputLimit = 1 << 20
    /// Bytes that are handed over at once.
    package static let pieceBytes = 16_384

    package func send(_ bytes: [UInt8]) {
        loop.post(.channel(id, .send(bytes)))
    }

    /// What was received was taken: the next bytes may come.
    package func resume() {
        loop.post(.channel(id, .resume))
    }

    /// Sends what fits into the socket at once, and ends the connection.
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
    /// Begins a connection; returns at once. The delegate is kept until it has ended.
    package func open(_ request: CurlChannelRequest, delegate: any CurlChannelDelegate) -> CurlChannel {
        let channel = CurlChannel(id: nextID(), loop: self)
        post(.channel(channel.id, .open(request, delegate)))
        return channel
    }
}
