import NIOCore
import NIOHPACK
import NIOHTTP2
import PushProtocol
import PushRouting
import PushStore

/// A request of a provider, and its response.
///
/// Confined to the event loop of its connection.
final class ProviderStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let gateway: Gateway
    private let connection: ProviderConnection
    private var context: ChannelHandlerContext?
    private var method = ""
    private var path = ""
    private var fields: [(name: String, value: String)] = []
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var isAnswered = false
    private var hasHead = false
    /// Whether the complete request has arrived.
    private var isWhole = false
    private var id: PushID
    private var timeout: Scheduled<Void>?

    init(gateway: Gateway, connection: ProviderConnection) {
        self.gateway = gateway
        self.connection = connection
        var random = SystemRandomNumberGenerator()
        id = PushID(at: GatewayClock.now().wallMilliseconds, using: &random)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        self.context = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            // Ignore trailers.
            if !hasHead { read(headers.headers) }
            hasHead = true
            heard(headers.endStream)
        case .data(let data):
            if case .byteBuffer(let buffer) = data.data { read(buffer) }
            heard(data.endStream)
        default: break
        }
    }

    private func read(_ headers: HPACKHeaders) {
        fields.reserveCapacity(headers.count)
        for (name, value, _) in headers {
            switch name {
            case ":method": method = value
            case ":path": path = value
            default: if !name.hasPrefix(":") { fields.append((name.lowercased(), value)) }
            }
        }
        if let given = ProviderRequest.identifier(fields) { id = given }
    }

    private func read(_ buffer: ByteBuffer) {
        guard body.count + buffer.readableBytes <= ProtocolLimits.payloadLength else {
            isTooLarge = true
            return
        }
        body.append(contentsOf: buffer.readableBytesView)
    }

    private func heard(_ isWhole: Bool) {
        self.isWhole = self.isWhole || isWhole
        if isWhole { requested() }
    }

    /// Starts the timeout for the rest of a request, if the request is incomplete. Most requests arrive complete and
    /// need no timer. Unneeded timers are avoided, because cancelling a timer becomes more expensive with more
    /// connections.
    func channelReadComplete(context: ChannelHandlerContext) {
        if hasHead, !isWhole, timeout == nil { wait(context) }
        context.fireChannelReadComplete()
    }

    private func wait(_ context: ChannelHandlerContext) {
        timeout = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(gateway.settings.bodyTimeout))) {
            self.isEndpoint ? self.respond(.slow) : self.answer(.idleTimeout)
            // Wait until the response is sent. A reset makes the connection drop unsent data of the stream.
            context.eventLoop.assumeIsolated().execute { self.reset() }
        }
    }

    /// Resets a stream if the rest of its request is not needed. The stream then no longer counts as open (RFC 9113,
    /// section 8.1).
    private func reset() {
        context?.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }

    private func requested() {
        timeout?.cancel()
        timeout = nil
        guard !isAnswered else { return }
        guard !isEndpoint else { return deliver() }
        do throws(Rejection) {
            guard !gateway.isStopping else { throw .shutdown }
            let request = try ProviderRequest(method: method, path: path, fields: fields)
            try authenticate(request)
        } catch {
            answer(error)
        }
    }

    // MARK: - UnifiedPush

    private var isEndpoint: Bool { EndpointRequest.isEndpoint(path) }

    private func deliver() {
        guard let context else { return }
        let arrival = EndpointExchange.Arrival(
            method: method, path: path, fields: fields, body: body, isTooLarge: isTooLarge)
        EndpointExchange(gateway: gateway).answer(arrival, on: context.eventLoop).assumeIsolated()
            .whenSuccess { self.respond($0) }
    }

    private func respond(_ answer: EndpointAnswer) {
        // The token of an endpoint proves that the sender may send, just as a provider's token does.
        if (200..<300).contains(answer.status) { connection.authenticated() }
        var headers = HPACKHeaders([(":status", "\(answer.status)")])
        for field in answer.fields { headers.add(name: field.name, value: field.value) }
        if !answer.text.isEmpty, !headers.contains(name: "content-type") {
            headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        }
        respond(answer.status, headers, method == "HEAD" || answer.text.isEmpty ? nil : answer.text)
    }

    // MARK: - Authentication

    private func authenticate(_ request: ProviderRequest) throws(Rejection) {
        switch connection.verdict {
        case .untrusted: throw .badCertificate
        case .trusted(let topics, let environment):
            guard environment == .any || environment == gateway.settings.environment else {
                throw .badCertificateEnvironment
            }
            connection.authenticated()
            try push(request, topics: topics)
        case .none:
            let text = try request.bearer()
            if let token = gateway.directory.verified(text) { return try admit(request, token) }
            let directory = gateway.directory
            let environment = gateway.settings.environment
            guard let loop = context?.eventLoop else { return }
            loop.makeFutureWithTask { await directory.verify(text, environment: environment) }.assumeIsolated()
                .whenSuccess { result in
                    do throws(Rejection) {
                        try self.admit(request, try result.get())
                    } catch {
                        self.answer(error)
                    }
                }
        }
    }

    private func admit(_ request: ProviderRequest, _ token: ProviderSession.Token) throws(Rejection) {
        if let rejection = connection.judge(token, now: GatewayClock.now()) { throw rejection }
        guard gateway.directory.mayPush(team: token.team) else { throw .forbidden }
        try push(request, team: token.team)
    }

    // MARK: - The push

    /// Accepts the push of a request.
    ///
    /// - Parameters:
    ///   - team: the team of the provider's token.
    ///   - topics: the topics of the provider's certificate.
    private func push(_ request: ProviderRequest, team: String? = nil, topics: [String] = []) throws(Rejection) {
        let headers = try PushHeaders(request)
        let named = headers.topic ?? (topics.count == 1 ? topics[0] : nil)
        guard let named else { throw .missingTopic }
        // The default topic of a certificate is the app's own topic. Only a topic in the request has the push type's
        // suffix.
        let topic = try TopicName(named, type: headers.topic == nil ? nil : headers.type).base
        guard let owner = gateway.directory.topic(topic)?.team, team.map({ $0 == owner }) ?? topics.contains(topic)
        else { throw .topicDisallowed }
        // A certificate names topics but no team, so the team is checked only here.
        guard gateway.directory.mayPush(team: owner) else { throw .forbidden }
        guard !isTooLarge else { throw .payloadTooLarge }
        guard request.token.utf8.count <= ProtocolLimits.tokenLength else { throw .badDeviceToken }
        if let record = gateway.directory.known(request.token) { return try push(headers, topic, record) }
        let directory = gateway.directory
        let token = request.token
        guard let loop = context?.eventLoop else { return }
        loop.makeFutureWithTask { try await directory.token(token) }.assumeIsolated().whenComplete { result in
            do throws(Rejection) {
                let record: TokenRecord?
                switch result {
                case .success(let found): record = found
                case .failure(let error):
                    throw (error as? StoreError)?.code == .unavailable ? .serviceUnavailable : .internalServerError
                }
                guard let record else { throw .badDeviceToken }
                try self.push(headers, topic, record)
            } catch {
                self.answer(error)
            }
        }
    }

    private func push(_ headers: PushHeaders, _ topic: String, _ record: TokenRecord) throws(Rejection) {
        guard record.topic == topic else { throw .deviceTokenNotForTopic }
        if let endedAt = record.endedAt {
            return answer(record.endedBy == .replaced ? .expiredToken : .unregistered, endedAt: endedAt)
        }
        let now = GatewayClock.now()
        guard gateway.requestRates.take(record.token, now: now) else { throw .tooManyRequests }
        let push = try Push(headers, payload: body, device: record.device, topic: topic, id: id, now: now)
        guard let loop = context?.eventLoop else { return }
        if headers.id != nil, !gateway.named.take(id, device: record.device, payload: body) { throw .badMessageId }
        let this = NIOLoopBound(self, eventLoop: loop)
        gateway.switchboard.accept(push) { [gateway] rejection in
            if rejection == nil {
                gateway.health.stored()
            } else {
                gateway.health.failed()
                if headers.id != nil { gateway.named.forget(push.id, device: push.device) }
            }
            if loop.inEventLoop { return this.value.finish(rejection) }
            loop.execute { this.value.finish(rejection) }
        }
    }

    private func finish(_ rejection: Rejection?) {
        if let rejection { answer(rejection) } else { respond(200, nil) }
    }

    // MARK: - The answer

    /// Sends a response that refuses the request.
    ///
    /// - Parameter endedAt: the time in milliseconds since 1970 at which the token became invalid.
    private func answer(_ rejection: Rejection, endedAt: Int64? = nil) {
        let timestamp = endedAt.map { ",\"timestamp\":\($0)" } ?? ""
        gateway.metrics.count("nightshift_gateway_rejected_total{reason=\"\(rejection.reason)\"}")
        respond(rejection.status, "{\"reason\":\"\(rejection.reason)\"\(timestamp)}")
    }

    private func respond(_ status: Int, _ text: String?) {
        var headers = HPACKHeaders([(":status", "\(status)"), ("apns-id", id.description)])
        if text != nil { headers.add(name: "content-type", value: "application/json") }
        respond(status, headers, text)
    }

    private func respond(_ status: Int, _ headers: HPACKHeaders, _ text: String?) {
        guard !isAnswered, let context else { return }
        isAnswered = true
        timeout?.cancel()
        var headers = headers
        if let text { headers.add(name: "content-length", value: "\(text.utf8.count)") }
        context.write(wrapOutboundOut(.headers(.init(headers: headers, endStream: text == nil))), promise: nil)
        if let text {
            let buffer = context.channel.allocator.buffer(string: text)
            context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(buffer), endStream: true))), promise: nil)
        }
        context.flush()
        connection.answered(status)
    }
}
