import Foundation
import NIOCore
import NIOHTTP2
import PushProtocol
import PushRouting

/// A provider's connection. It holds the state that its requests share, and handles the frames that concern the whole
/// connection.
///
/// Confined to its event loop.
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
    /// The timer that closes a connection that does not speak HTTP/2 or does not authenticate in time.
    private var timeout: Scheduled<Void>?
    private var hasSpoken = false

    /// The time limit for the first authenticated request, in seconds from the first frame.
    static let anonymousLimit: Int64 = 60

    /// Creates the handler of a provider's connection.
    ///
    /// - Parameter proved: called with the first request that authenticates.
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
        let timeout = TimeAmount.seconds(Int64(ProtocolLimits.handshakeTimeout))
        self.timeout = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !hasSpoken {
            hasSpoken = true
            timeout?.cancel()
            timeout = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Self.anonymousLimit)) {
                self.end(.idleTimeout)
            }
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
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
        // The provider violated HTTP/2 or TLS, so close the connection. The HTTP/2 handler has already sent the
        // reason.
        context.close(promise: nil)
    }

    // MARK: - Calls by requests

    var verdict: CertificateVerdict { certificate.verdict }

    /// Returns the reason to refuse requests with this token; nil if they may proceed.
    func judge(_ token: ProviderSession.Token, now: RouteTime) -> Rejection? {
        let rejection = session.judge(token, now: now.wallSeconds)
        if rejection == nil { authenticated() }
        return rejection
    }

    /// Handles the first authenticated request. After it, the provider may use several streams.
    func authenticated() {
        guard !isAuthenticated else { return }
        isAuthenticated = true
        timeout?.cancel()
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

    /// Sends the reason for closing the connection, and closes the connection when pending requests are answered.
    func end(_ rejection: Rejection) {
        guard !isEnding, let context else { return }
        isEnding = true
        var reason = context.channel.allocator.buffer(capacity: 64)
        reason.writeString("{\"reason\":\"\(rejection.reason)\"}")
        let code: HTTP2ErrorCode = rejection == .tooManyRequests ? .enhanceYourCalm : .noError
        // The provider may send requests before it reads this frame. The gateway still answers them, so no stream is
        // refused.
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
