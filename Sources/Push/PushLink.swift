package import NightshiftCurl
import PushProtocol

/// A connection to a gateway as the service uses it. All calls are for any thread.
package struct PushWire: Sendable {
    package var send: @Sendable ([UInt8]) -> Void
    /// What came was taken: the next bytes may come.
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

    /// TLS by libcurl.
    package init(_ request: CurlChannelRequest, delegate: any CurlChannelDelegate, on loop: CurlLoop) {
        let channel = loop.open(request, delegate: delegate)
        self.init(send: { channel.send($0) }, resume: { channel.resume() }, close: { channel.close() })
    }
}

/// What a connection has to say, with its number.
struct LinkEvent: Sendable {
    var link: Int
    var kind: Kind

    enum Kind: Sendable {
        case opened
        case received([UInt8])
        case ended(CurlEnd)
    }
}

/// Passes on what a connection says, in order.
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

/// The connection of the moment.
struct PushLink: Sendable {
    var number: Int
    var wire: PushWire
    var channel: DeviceChannel
    /// What the gateway was told last.
    var topics: [TopicChoice]
    var state: DeviceState
    /// Topics about which it was asked, and has not answered or has refused.
    var asked: Set<String> = []
    var askedToLeave: Set<String> = []
}

extension CurlEnd {
    /// What went wrong with a connection to a gateway, and what to do about it.
    package func sentence(_ host: String, _ port: Int) -> String {
        let place = "\(host):\(port)"
        return switch code {
        case 0: "The gateway has closed the connection."
        case 5: "The proxy's name cannot be resolved: \(message)."
        case 6: "There is no host '\(host)', as far as can be found out."
        case 7: "Nobody answers at \(place): \(message)."
        case 28: "\(place) has not answered in time."
        case 35: "TLS with \(place) failed: \(message). Is it the gateway's port for devices?"
        case 60:
            "The certificate of \(place) is not trusted: \(message). '--authority FILE' names the authority that signed it."
        case 77: "The file of the authority cannot be read: \(message)."
        default: "\(place): \(message)."
        }
    }
}
