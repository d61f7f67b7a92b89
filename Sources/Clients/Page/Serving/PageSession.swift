import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NightshiftAPI
import NightshiftClient
import NightshiftCurl
import Synchronization

/// A run of the page: its secrets, and its responses to requests that the gate allows.
final class PageSession: Sendable {
    private let site: PageSite
    private let gate: RequestGate
    private let links = Mutex(OneTimeLinks())
    private let visits: VisitorTracker
    private let logger: Logger

    /// The maximum size of a request body in bytes: enough for ten thousand pasted URLs, or for fewer long ones.
    private static let mostBody = 4 << 20

    init(site: PageSite, port: Int, visits: VisitorTracker, logger: Logger) {
        self.site = site
        self.visits = visits
        self.logger = logger
        gate = RequestGate(port: port, cookie: Secret(), token: Secret())
    }

    /// Returns a link that gives one browser access, once. Restarts the time for which the server waits for a visitor.
    func newLink() -> String {
        visits.enter()
        defer { visits.leave() }
        return gate.origin + RequestGate.linkPrefix + links.withLock { $0.issue() }.text
    }

    @concurrent func respond(to request: Request, _ writer: consuming ResponseWriter) async throws {
        let decision = gate.decide(PageRequest(request))
        switch decision {
        case .link, .refused: break
        default: visits.enter()
        }
        defer {
            switch decision {
            case .link, .refused: break
            default: visits.leave()
            }
        }
        let response = await answer(decision, request)
        // A response to HEAD has no body (RFC 9110, section 9.3.2).
        let body = request.method == .head ? ResponseBody() : response.body
        try await writer.write(response: response.head, body: body)
    }

    private func answer(_ decision: RequestGate.Decision, _ request: Request) async -> Response {
        switch decision {
        case .link(let candidate): return open(candidate)
        case .toPage: return Self.toPage()
        case .page: return Self.file(site.assets.document(token: gate.token))
        case .asset(let name): return Self.file(site.assets.files[name])
        case .setup: return Self.json(site.setup)
        case .timeline(let query):
            return await response { Self.json(try await self.site.timelines.timeline(query, now: Date())) }
        case .api(let forwarded): return await response { try await self.forward(forwarded, request) }
        case .refused(let refusal):
            logger.debug("request refused", metadata: ["reason": "\(refusal)"])
            return Self.plain(refusal.status, refusal.words)
        }
    }

    private func open(_ candidate: String) -> Response {
        guard links.withLock({ $0.take(candidate) }) else {
            return Self.plain(
                403, "This link has been used, or is not valid. Get a new one: nightshift page")
        }
        var response = Self.toPage()
        response.headers[.setCookie] = Cookies.setting(gate.cookieName, to: gate.cookie)
        return response
    }

    // MARK: - The service

    private func forward(_ forwarded: ForwardedRequest, _ request: Request) async throws -> Response {
        var forwarded = forwarded
        if forwarded.isStream {
            forwarded.lastEventID = request.headers[.lastEventID]
            return try await stream(forwarded, request)
        }
        if request.method != .get {
            let body = try await request.body.collect(upTo: Self.mostBody)
            if body.readableBytes > 0 { forwarded.body = Data(body.readableBytesView) }
        }
        let answer = try await site.client.forward(forwarded)
        return Self.response(answer.head.status, Self.type(answer.head), answer.body)
    }

    /// Returns the response, or a problem if the service does not answer.
    private func response(_ answer: () async throws -> Response) async -> Response {
        do {
            return try await answer()
        } catch let problem as Problem {
            return Self.problem(problem)
        } catch let failure as ServiceUnreachable {
            return Self.unreachable(failure.message)
        } catch let failure as ServiceUnusable {
            return Self.unreachable(failure.message)
        } catch is NIOTooManyBytesError {
            return Self.problem(.tooLarge("The request is larger than 4 MiB, the page's limit."))
        } catch {
            logger.error("request failed", metadata: ["error": "\(error)"])
            return Self.unreachable("The page could not pass the request on to the service.")
        }
    }

    private func stream(_ forwarded: ForwardedRequest, _ request: Request) async throws -> Response {
        let stream = try await site.client.forwardStream(forwarded)
        guard stream.head.status == 200 else {
            var body: [UInt8] = []
            while let bytes = try await stream.next(isolation: nil), body.count < Self.mostBody { body += bytes }
            return Self.response(stream.head.status, Self.type(stream.head), body)
        }
        var fields = Self.fields(type: Self.type(stream.head))
        fields[.connection] = "close"
        let body = ResponseBody { writer in
            do {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    while let bytes = try await stream.next(isolation: nil) {
                        try await writer.write(ByteBuffer(bytes: bytes))
                    }
                }
            } catch is CancellationError {
                // The browser has closed the stream, so there is nothing left to send.
            } catch is CurlEnd {
                // The service has closed the stream, so end the browser's stream too.
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }

    private static func type(_ head: CurlHead) -> String {
        HeaderPolicy.contentType(head.fields.first { $0.name.lowercased() == "content-type" }?.value)
    }
}
