import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NightshiftAPI

/// Handles a request from its head to the last byte of its response: checks, routing, and errors.
struct Dispatcher: Sendable {
    private let responder: RouterResponder<CallContext>
    private let routes: [Route]
    private let onLargeRequest: @Sendable () -> Void
    private let logger: Logger

    /// Creates a dispatcher for the routes.
    ///
    /// - Parameter onLargeRequest: Called after each request whose body or response was larger than
    ///   ``ConnectionLimits/turnlessBody``.
    init(routes: [Route], onLargeRequest: @escaping @Sendable () -> Void, logger: Logger) {
        let router = Router(context: CallContext.self)
        for route in routes {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                let query = try QueryParameters(request.uri.query, allowing: route.query)
                return try await route.handle(Call(request: request, context: context, query: query))
            }
        }
        responder = router.buildResponder()
        self.routes = routes
        self.onLargeRequest = onLargeRequest
        self.logger = logger
    }

    @concurrent @Sendable func respond(
        to request: Request, writer: consuming ResponseWriter, from caller: Caller
    ) async throws {
        if Self.awaitsContinue(request) {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        let response = try await answer(to: request, from: caller)
        let isLarge = Self.isLarge(request, response)
        try await writer.write(response: response.head, body: Self.body(of: response, to: request))
        if isLarge { onLargeRequest() }
    }

    /// Returns whether the body of the request or of the response is larger than ``ConnectionLimits/turnlessBody``. A
    /// response without a length, such as an event stream, counts as small because it is never completely in memory.
    private static func isLarge(_ request: Request, _ response: Response) -> Bool {
        if request.headers[.transferEncoding] != nil { return true }
        let sizes = [request.headers[.contentLength].flatMap(Int.init), response.body.contentLength]
        return sizes.contains { $0 ?? 0 > ConnectionLimits.turnlessBody }
    }

    /// Sends the response to a caller that may not use the service.
    @concurrent @Sendable static func refuse(
        _ request: Request, writer: consuming ResponseWriter, channel: any Channel
    ) async throws {
        let problem = Problem.forbidden("This service belongs to another user.")
        let response = Reply.problem(problem).response
        try await writer.write(response: response.head, body: body(of: response, to: request))
    }

    /// Returns the body that is sent after the head. The response to HEAD has no body (RFC 9110, section 9.3.2),
    /// because the client would read a body as the next response.
    private static func body(of response: Response, to request: Request) -> ResponseBody {
        request.method == .head ? ResponseBody() : response.body
    }

    private func answer(to request: Request, from caller: Caller) async throws -> Response {
        do {
            try RequestOrigin.check(request.head)
            let context = CallContext(source: CallSource(logger: logger, caller: caller))
            let response = try await responder.respond(to: request, context: context)
            // Among all responses, only the one that Hummingbird creates for unknown routes lacks the version.
            return response.headers[.version] == nil ? unrouted(request) : response
        } catch let problem as Problem {
            return Reply.problem(problem).response
        } catch let error as HTTPParserError {
            // The connection is unusable. `UnreadableRequestHandler` sends the response.
            throw error
        } catch let error as StalledBody {
            // A client does not read a response after sending only a part of its request.
            throw error
        } catch {
            logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return Reply.problem(.internalError).response
        }
    }

    /// Returns the response to a request without a matching route.
    private func unrouted(_ request: Request) -> Response {
        let path = request.uri.path
        let allowed = routes.filter { $0.matches(path) }.map(\.method)
        guard !allowed.isEmpty else {
            return Reply.problem(.notFound("There is no resource at '\(path)'. /v1/openapi.json lists all resources."))
                .response
        }
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        return Reply.problem(
            .methodNotAllowed("'\(path)' knows \(methods), not \(request.method.rawValue)."), allow: allowed
        ).response
    }

    /// Returns whether the client waits for an interim response before it sends the body (RFC 9110, section 10.1.1).
    private static func awaitsContinue(_ request: Request) -> Bool {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return false }
        guard let length = request.headers[.contentLength].flatMap(Int.init) else { return true }
        return length <= Limits.requestBody
    }
}
