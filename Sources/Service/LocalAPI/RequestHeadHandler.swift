import NIOCore
import NIOHTTP1

/// A handler for parts of a request head that the types of later handlers cannot represent: the HTTP version, and a
/// host in the request target.
///
/// The handler is placed directly after the HTTP parser. For later handlers, it marks each connection that must be
/// closed with a `Connection` field, whatever the HTTP version, and turns each host that a request names into a `Host`
/// field.
final class RequestHeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Requests without a complete response, in order.
    private var open = CircularBuffer<Request>()

    private struct Request {
        var isOld: Bool
        var isKeptAlive: Bool

        /// Reads whether the connection stays open. `close` takes precedence over `keep-alive` (RFC 9112, section 9.3).
        init(_ head: HTTPRequestHead) {
            let options = head.headers[canonicalForm: "Connection"].map { $0.lowercased() }
            isOld = head.version.major < 1 || (head.version.major == 1 && head.version.minor == 0)
            isKeptAlive = !options.contains("close") && (!isOld || options.contains("keep-alive"))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let request = Request(head)
        open.append(request)
        // For an HTTP/1.0 client, the end of the connection is the end of the response.
        if !request.isKeptAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        // HTTP/1.0 has no interim responses (RFC 9110, section 10.1.1).
        if request.isOld { head.headers.remove(name: "Expect") }
        if let authority = Self.authority(head.uri),
            head.headers["Host"].map({ $0.lowercased() }) != [authority.lowercased()]
        {
            head.headers.add(name: "Host", value: authority)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            guard let request = open.first, request.isOld else { break }
            // An HTTP/1.0 response is not chunked.
            head.version = .http1_0
            let isMeasured = head.headers.contains(name: "Content-Length") || head.status == .noContent
            let keeps = request.isKeptAlive && isMeasured
            head.headers.replaceOrAdd(name: "Connection", value: keeps ? "keep-alive" : "close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end: _ = open.popFirst()
        case .body: break
        }
        context.write(data, promise: promise)
    }

    /// Returns the host of a target in absolute form (RFC 9112, section 3.2.2). It is treated like a `Host` field.
    private static func authority(_ target: String) -> String? {
        guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return nil }
        return String(target[scheme.upperBound...].prefix { !"/?#".contains($0) })
    }
}
