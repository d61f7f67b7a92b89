package import NightshiftCurl
import PushProtocol

/// A connection to a gateway. All functions may be called from any thread.
package struct PushWire: Sendable {
    package var send: @Sendable ([UInt8]) -> Void
    /// Requests the next bytes, after the last ones have been handled.
    package var resume: @Sendable () -> Void
    package var close: @Sendable () -> Void

    package init(
        send: @escaping @Sendable ([UInt8]) -> Void, resume: @escaping @Sendable () -> Void,
        close: @escaping @Sendable () -> Void
    ) {
        self.send = send
        self.resume = resume
        self.close = close
    }

    /// Creates a TLS connection with libcurl.
    package init(_ request: CurlChannelRequest, delegate: any CurlChannelDelegate, on loop: CurlLoop) {
        let channel = loop.open(request, delegate: delegate)
        self.init(send: { channel.send($0) }, resume: { channel.resume() }, close: { channel.close() })
    }
}

/// An event of a connection, with the number of the connection.
struct LinkEvent: Sendable {
    var link: Int
    var kind: Kind

    enum Kind: Sendable {
        case opened
        case received([UInt8])
        case ended(CurlEnd)
    }
}

/// A delegate that forwards the events of a connection in order.
final class LinkReporter: CurlChannelDelegate {
    private let link: Int
    private let events: AsyncStream<LinkEvent>.Continuation

    init(_ link: Int, _ events: AsyncStream<LinkEvent>.Continuation) {
        self.link = link
        self.events = events
    }

    func opened() { events.yield(LinkEvent(link: link, kind: .opened)) }
    func received(_ bytes: [UInt8]) { events.yield(LinkEvent(link: link, kind: .received(bytes))) }
    func ended(_ end: CurlEnd) { events.yield(LinkEvent(link: link, kind: .ended(end))) }
}

/// The current connection to the gateway.
struct PushLink: Sendable {
    var number: Int
    var wire: PushWire
    var channel: DeviceChannel
    /// The filters of topics that were last sent to the gateway.
    var topics: [TopicChoice]
    var state: ReportedActivity
    /// The topics whose token was requested and not received: there is no response yet, or the request was refused.
    var asked: Set<String> = []
    var askedToLeave: Set<String> = []
}

extension CurlEnd {
    /// Returns a sentence that tells the user why a connection to a gateway ended, and what to do.
    package func sentence(_ host: String, _ port: Int) -> String {
        let place = "\(host):\(port)"
        return switch code {
        case 0: "The gateway has closed the connection."
        case 5: "The proxy's name cannot be resolved: \(message)."
        case 6: "The host '\(host)' cannot be found. Check its name and your network."
        case 7: "Cannot connect to \(place): \(message)."
        case 28: "\(place) has not responded in time."
        case 35: "TLS with \(place) failed: \(message). Check that this is the gateway's port for devices."
        case 60:
            "The certificate of \(place) is not trusted: \(message). Give the file of its certificate authority with '--authority FILE'."
        case 77: "The file of the certificate authority cannot be read: \(message)."
        default: "\(place): \(message)."
        }
    }
}
