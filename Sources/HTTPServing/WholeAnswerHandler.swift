package import NIOCore
package import NIOHTTPTypes

/// Closes a connection when the answers that were written are with the kernel, and not before.
///
/// Hummingbird closes a connection behind its last answer when the service stops, and one that has been idle for a while; NIO
/// throws away what a socket has not taken when it is closed. Without this a client that reads slowly loses the end of its answer.
/// ``EndOfPatience`` tells it not to wait any longer.
package final class WholeAnswerHandler: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// Answers of which the socket has not taken the end.
    private var pending = 0
    /// What is closed then: the whole connection, or its output, which for a client that has closed its own direction is the same.
    private var closing: CloseMode?
    /// Of who wants the output closed.
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
            // It is closed when the channel is, whoever does it.
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
        guard event is EndOfPatience else { return context.triggerUserOutboundEvent(event, promise: promise) }
        isPatient = false
        closeNow(context)
        promise?.succeed()
    }
}

/// What is sent to a connection that is to be closed behind it, whatever its client has not read.
package struct EndOfPatience: Sendable {
    package init() {}
}
