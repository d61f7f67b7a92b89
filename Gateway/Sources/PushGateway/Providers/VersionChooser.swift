import NIOCore
import PushProtocol

/// A handler that detects the HTTP version of a connection from its first bytes, and then removes itself.
///
/// HTTP/2 begins with `PRI`, which is no method of HTTP/1.1 (RFC 9113, section 3.4). ALPN is not used for this, because
/// some provider libraries offer no protocol and speak HTTP/2. Confined to its event loop.
final class VersionChooser: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    enum Version {
        case http1
        case http2
    }

    private let closed: @Sendable () -> Void
    private let choose: (any Channel, Version) throws -> Void
    private var first: ByteBuffer?
    private var timeout: Scheduled<Void>?

    private static let preface = Array("PRI".utf8)

    /// Creates the handler.
    ///
    /// - Parameters:
    ///   - closed: called if the connection ends before its version is known.
    ///   - choose: adds the version's handlers after this one.
    init(closed: @escaping @Sendable () -> Void, choose: @escaping (any Channel, Version) throws -> Void) {
        self.closed = closed
        self.choose = choose
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let timeout = TimeAmount.seconds(Int64(ProtocolLimits.handshakeTimeout))
        self.timeout = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if var first {
            first.writeBuffer(&bytes)
            self.first = first
        } else {
            first = bytes
        }
        guard let first else { return }
        let start = first.readableBytesView.prefix(Self.preface.count)
        let mayBeHTTP2 = Self.preface.starts(with: start)
        guard !mayBeHTTP2 || start.count == Self.preface.count else { return }
        self.first = nil
        timeout?.cancel()
        do {
            try choose(context.channel, mayBeHTTP2 ? .http2 : .http1)
        } catch {
            closed()
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(wrapInboundOut(first))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        closed()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent || event is GatewayStops { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
