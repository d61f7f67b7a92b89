import NIOCore
import PushProtocol
import PushRouting
import PushStore

/// A handler of requests to UnifiedPush endpoints, over any version of HTTP.
struct EndpointExchange: Sendable {
    /// A complete request to an endpoint.
    struct Arrival: Sendable {
        var method: String
        var path: String
        /// The header fields, with names in lower case.
        var fields: [(name: String, value: String)]
        var body: [UInt8]
        /// Whether the body exceeds the limit. If so, `body` contains only part of it.
        var isTooLarge: Bool
    }

    let gateway: Gateway

    /// Returns the response. For a stored message, the response is ready when the message is on the disk. The future
    /// never fails.
    func answer(_ arrival: Arrival, on loop: any EventLoop) -> EventLoopFuture<EndpointAnswer> {
        let answer = lookUp(arrival, loop)
        answer.whenSuccess { gateway.metrics.count("nightshift_gateway_endpoint_total{status=\"\($0.status)\"}") }
        return answer
    }

    private func lookUp(_ arrival: Arrival, _ loop: any EventLoop) -> EventLoopFuture<EndpointAnswer> {
        do throws(EndpointAnswer) {
            guard !gateway.isStopping else { throw .unavailable }
            let request = try EndpointRequest(method: arrival.method, path: arrival.path, fields: arrival.fields)
            if let record = gateway.directory.known(request.token) { return perform(request, record, arrival, loop) }
            let directory = gateway.directory
            return loop.makeFutureWithTask { try await directory.token(request.token) }
                .flatMap { record in
                    guard let record else { return loop.makeSucceededFuture(.notFound) }
                    return perform(request, record, arrival, loop)
                }
                .recover { _ in .failed }
        } catch {
            return loop.makeSucceededFuture(error)
        }
    }

    private func perform(
        _ request: EndpointRequest, _ record: TokenRecord, _ arrival: Arrival, _ loop: any EventLoop
    ) -> EventLoopFuture<EndpointAnswer> {
        // The token of an app's topic is not an endpoint.
        guard UnifiedPushTopic(record.topic) != nil else { return loop.makeSucceededFuture(.notFound) }
        guard record.endedAt == nil else { return loop.makeSucceededFuture(.gone) }
        switch request.action {
        case .discover: return loop.makeSucceededFuture(.discovery)
        case .withdraw(let id): return withdraw(id, record, loop)
        case .push(let headers): return push(headers, record, arrival, loop)
        }
    }

    private func push(
        _ headers: MessageHeaders, _ record: TokenRecord, _ arrival: Arrival, _ loop: any EventLoop
    ) -> EventLoopFuture<EndpointAnswer> {
        do throws(EndpointAnswer) {
            guard !arrival.isTooLarge else { throw .tooLarge }
            let now = GatewayClock.now()
            if let wait = gateway.messageRates.wait(record.token, now: now) { throw .tooMany(wait) }
            var random = SystemRandomNumberGenerator()
            let push = try Push(
                headers, body: arrival.body, device: record.device, topic: record.topic, id: PushID(using: &random),
                now: now)
            let location = "\(gateway.publicURL)/up/\(record.token)/\(push.id)"
            let promise = loop.makePromise(of: EndpointAnswer.self)
            gateway.switchboard.accept(push) { rejection in
                rejection == nil ? gateway.health.stored() : gateway.health.failed()
                switch rejection {
                case nil: promise.succeed(.accepted(push, lifetime: headers.lifetime, at: location))
                case .serviceUnavailable?: promise.succeed(.unavailable)
                default: promise.succeed(.failed)
                }
            }
            return promise.futureResult
        } catch {
            return loop.makeSucceededFuture(error)
        }
    }

    private func withdraw(
        _ id: PushID, _ record: TokenRecord, _ loop: any EventLoop
    ) -> EventLoopFuture<EndpointAnswer> {
        // The rate limit also counts deletions, because a deletion costs the store as much as a message.
        if let wait = gateway.messageRates.wait(record.token, now: GatewayClock.now()) {
            return loop.makeSucceededFuture(.tooMany(wait))
        }
        let promise = loop.makePromise(of: EndpointAnswer.self)
        gateway.switchboard.withdraw(id, topic: record.topic, device: record.device) { result in
            switch result {
            case .success(true): promise.succeed(.withdrawn)
            case .success(false): promise.succeed(.notFound)
            case .failure(let error): promise.succeed(error.code == .unavailable ? .unavailable : .failed)
            }
        }
        return promise.futureResult
    }
}
