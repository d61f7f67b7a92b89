import Foundation
import NIOCore
import NIOHTTP2
import PushProtocol
import PushRouting

/// One provider's connection: what its requests share, and the frames that are about it as a whole.
///
/// Belongs to its event loop.
final class ProviderConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let settings: GatewaySettings
    private let certificate: CertificateBox
    private let proved: @Sendable () -> Void
    private let closed: @Sendable () -> Void
    private var context: ChannelHandlerContext?
    private var session = ProviderSession()
    private var conduct = ProviderConduct()
    private var isSlow = false
    private var isAuthenticated = false
    private var isEnding = false
    /// Ends a connection that never comes to speak HTTP/2, or to prove whose it is.
    private var patience: Scheduled<Void>?
    private var hasSpoken = false

    /// Seconds from the first frame to the first request that is let in.
    static let anonymousLimit: Int64 = 60

    /// - Parameter proved: called with the first request that is let in.
    init(
        settings: GatewaySettings, certificate: CertificateBox, proved: @escaping @Sendable () -> Void,
        closed: @escaping @Sendable () -> Void
    ) {
        self.settings = settings
        self.certificate = certificate
        self.proved = proved
        self.closed = closed
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let channel = context.channel
        let patience = TimeAmount.seconds(Int64(ProtocolLimits.handshakePatience))
        self.patience = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !hasSpoken {
            hasSpoken = true
            patience?.cancel()
            patience = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Self.anonymousLimit)) {
                self.end(.idleTimeout)
            }
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        self.context = nil
        closed()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { end(.idleTimeout) }
        if event is GatewayStops { end(.shutdown) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Whatever a provider does wrong below HTTP ends its connection; HTTP/2 has said why.
        context.close(promise: nil)
    }

    // MARK: - What requests ask of it

    var verdict: CertificateVerdict { certificate.verdict }

    /// Nil where requests with this token may go on.
    func judge(_ token: ProviderSession.Token, now: Moment) -> Rejection? {
        let rejection = session.judge(token, now: now.wallSeconds)
        if rejection == nil { authenticated() }
        return rejection
    }

    /// The first request that proves who the provider is opens the other streams.
    func authenticated() {
        guard !isAuthenticated else { return }
        isAuthenticated = true
        patience?.cancel()
        proved()
        offer(settings.streams)
    }

    func answered(_ status: Int) {
        switch conduct.answered(status, settings.conduct) {
        case .unchanged: break
        case .slow:
            isSlow = true
            offer(1)
        case .restore:
            isSlow = false
            if isAuthenticated { offer(settings.streams) }
        case .end: end(.tooManyRequests)
        }
    }

    /// Says why the connection ends, and ends it when what runs is answered.
    func end(_ rejection: Rejection) {
        guard !isEnding, let context else { return }
        isEnding = true
        var reason = context.channel.allocator.buffer(capacity: 64)
        reason.writeString("{\"reason\":\"\(rejection.reason)\"}")
        let code: HTTP2ErrorCode = rejection == .tooManyRequests ? .enhanceYourCalm : .noError
        // What has been sent before the provider reads this is still answered: no stream is refused.
        write(.init(streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: code, opaqueData: reason)))
        let channel = context.channel
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }

    private func offer(_ streams: Int) {
        guard !isEnding else { return }
        let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: isSlow ? 1 : streams)
        write(.init(streamID: .rootStream, payload: .settings(.settings([setting]))))
    }

    private func write(_ frame: HTTP2Frame) {
        context?.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }
}
