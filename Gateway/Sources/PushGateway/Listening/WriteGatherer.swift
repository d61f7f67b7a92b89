import NIOCore

/// A handler that combines all writes and flushes within one turn of the event loop into one write.
///
/// A commit answers many requests of a connection at once. If each response were flushed alone, it would cost a TLS
/// record and a system call for 60 bytes. Each record would also occupy a buffer of kilobytes until the peer reads.
/// Confined to its event loop.
final class WriteGatherer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The number of gathered bytes that are written without waiting for the end of the turn. A TLS record has at most
    /// 16 KiB.
    private static let limit = 16_384

    private var pending: ByteBuffer?
    private var promise: EventLoopPromise<Void>?
    /// Whether a flush is scheduled for the end of this turn.
    private var isDue = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var data = unwrapOutboundIn(data)
        if (pending?.readableBytes ?? 0) + data.readableBytes > Self.limit { passOn(context) }
        if pending == nil {
            pending = data
        } else {
            pending?.writeBuffer(&data)
        }
        // The gathered writes become one write, so the first promise completes the promises of the other writes.
        if self.promise == nil { self.promise = promise } else { self.promise?.futureResult.cascade(to: promise) }
    }

    func flush(context: ChannelHandlerContext) {
        guard !isDue else { return }
        isDue = true
        context.eventLoop.assumeIsolated().execute {
            self.isDue = false
            self.passOn(context)
            context.flush()
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        passOn(context)
        context.flush()
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        passOn(context)
        context.fireChannelInactive()
    }

    private func passOn(_ context: ChannelHandlerContext) {
        guard let pending else { return }
        let promise = promise
        (self.pending, self.promise) = (nil, nil)
        context.write(wrapOutboundOut(pending), promise: promise)
    }
}
