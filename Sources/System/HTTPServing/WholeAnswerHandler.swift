package import NIOCore
package import NIOHTTPTypes

/// A handler that delays the close of a connection until the kernel has taken all written responses.
///
/// When the service stops, Hummingbird closes a connection after its last response, and it also closes idle
/// connections. NIO discards data that the socket has not taken at that time. Without this handler, a client that reads
/// slowly would lose the end of its response. ``CloseTimeout`` ends the delay.
package final class WholeAnswerHandler: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// The number of responses whose last bytes the socket has not taken yet.
    private var pending = 0
    /// The delayed close: of the whole connection, or of its output only. The two have the same effect for a client
    /// that has already closed its sending direction.
    private var closing: CloseMode?
    /// The promise of the caller that requested the close of the output.
    private var outputPromise: EventLoopPromise<Void>?
    private var isPatient = true

    package init() {}

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        pending += 1
        let taken = promise ?? context.eventLoop.makePromise()
        taken.futureResult.assumeIsolated().whenComplete { _ in
            self.pending -= 1
            if self.pending == 0 { self.closeNow(context) }
        }
        context.write(data, promise: taken)
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, pending > 0, isPatient else { return context.close(mode: mode, promise: promise) }
        if mode == .all {
            closing = .all
            // The promise completes when the channel is closed, regardless of the cause.
            context.channel.closeFuture.cascade(to: promise)
        } else {
            closing = closing ?? mode
            outputPromise.setOrCascade(to: promise)
        }
    }

    private func closeNow(_ context: ChannelHandlerContext) {
        guard let mode = closing else { return }
        let promise = outputPromise
        (closing, outputPromise) = (nil, nil)
        context.close(mode: mode, promise: promise)
    }

    package func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is CloseTimeout else { return context.triggerUserOutboundEvent(event, promise: promise) }
        isPatient = false
        closeNow(context)
        promise?.succeed()
    }
}

/// The event that makes the handler close the connection even if the client has not read everything.
package struct CloseTimeout: Sendable {
    package init() {}
}
