import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The HTTP side of the bridge: JSON-RPC at `/jsonrpc`, XML-RPC at `/rpc`.
struct BridgeSession: Sendable {
    let gate: BridgeGate
    let dispatcher: CallDispatcher

    /// The maximum size of a request or message in bytes (aria2's default for `rpc-max-request-size`).
    static let mostBytes = 2 << 20

    @concurrent func respond(to request: Request, _ writer: consuming ResponseWriter) async throws {
        let head = request.head
        let hosts = (head.authority.map { [$0] } ?? []) + head.headerFields[values: .hostField]
        var response: HummingbirdCore.Response
        var endsProgram = false
        defer { if endsProgram { dispatcher.bridge.end() } }
        switch gate.decide(hosts: hosts, origins: head.headerFields[values: .origin]) {
        case .refused(let refusal): response = Self.plain(403, refusal.rawValue)
        case .admitted(let origin):
            response = try await answer(request, &endsProgram)
            if let origin { Self.allow(origin, request, &response) }
        }
        try await writer.write(response: response.head, body: response.body)
    }

    private func answer(_ request: Request, _ endsProgram: inout Bool) async throws -> HummingbirdCore.Response {
        let target = (request.head.path ?? "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        switch (request.method, target.first ?? "") {
        case (.options, _): return Self.empty(200)
        case (.get, "/jsonrpc"): return await get(String(target.count > 1 ? target[1] : ""), &endsProgram)
        case (.post, "/jsonrpc"):
            guard let body = try await body(of: request) else { return Self.tooLarge }
            let answer = await dispatcher.answer(JSONRPC.message(Data(body)))
            endsProgram = answer.endsProgram
            return Self.response(answer.status, "application/json-rpc", answer.body)
        case (.post, "/rpc"):
            guard let body = try await body(of: request) else { return Self.tooLarge }
            guard let answer = await dispatcher.answer(xml: body) else { return Self.empty(400) }
            endsProgram = answer.endsProgram
            return Self.response(200, "text/xml", answer.body)
        default: return Self.empty(404)
        }
    }

    /// Returns the body; nil if it is too large.
    private func body(of request: Request) async throws -> [UInt8]? {
        // Answer before the client sends all of it.
        guard request.headers[.contentLength].flatMap({ Int($0) }) ?? 0 <= Self.mostBytes else { return nil }
        do {
            return Array(try await request.body.collect(upTo: Self.mostBytes).readableBytesView)
        } catch is NIOTooManyBytesError {
            return nil
        }
    }

    /// Answers a call in a query. With `jsoncallback`, the response is a script that calls this function.
    private func get(_ query: String, _ endsProgram: inout Bool) async -> HummingbirdCore.Response {
        var components = URLComponents()
        components.percentEncodedQuery = query
        let items = (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        let parameters = Dictionary(items) { first, _ in first }
        let answer = await dispatcher.answer(JSONRPC.message(query: parameters))
        endsProgram = answer.endsProgram
        guard let function = parameters["jsoncallback"] else {
            return Self.response(answer.status, "application/json-rpc", answer.body)
        }
        guard Self.isFunction(function) else { return Self.plain(400, "The value of jsoncallback is not a name.") }
        return Self.response(
            answer.status, "text/javascript", Data("\(function)(".utf8) + answer.body + Data(")".utf8))
    }

    /// Whether the text names a function of a script. Other text could be a script of its own.
    private static func isFunction(_ text: String) -> Bool {
        text.utf8.count <= 128 && !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    // MARK: - Responses

    /// Lets the web page read the response (Fetch, section 3.2), also if it is in another network.
    private static func allow(_ origin: String, _ request: Request, _ response: inout HummingbirdCore.Response) {
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.vary] = "Origin"
        guard request.method == .options else { return }
        response.headers[.accessControlAllowMethods] = "POST, GET, OPTIONS"
        response.headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
        response.headers[.accessControlMaxAge] = "1728000"
        if let name = HTTPField.Name("Access-Control-Allow-Private-Network") { response.headers[name] = "true" }
    }

    private static func response(_ status: Int, _ type: String, _ body: Data) -> HummingbirdCore.Response {
        HummingbirdCore.Response(
            status: HTTPResponse.Status(code: status),
            headers: [.contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    private static func plain(_ status: Int, _ text: String) -> HummingbirdCore.Response {
        response(status, "text/plain; charset=utf-8", Data("\(text)\n".utf8))
    }

    private static func empty(_ status: Int) -> HummingbirdCore.Response {
        HummingbirdCore.Response(
            status: HTTPResponse.Status(code: status), body: ResponseBody(byteBuffer: ByteBuffer()))
    }

    private static var tooLarge: HummingbirdCore.Response { plain(413, "A request may have 2 MiB.") }
}

extension HTTPField.Name {
    // The name is a valid token of RFC 9110, so the initializer does not return nil.
    fileprivate static let hostField = HTTPField.Name("Host")!
}
