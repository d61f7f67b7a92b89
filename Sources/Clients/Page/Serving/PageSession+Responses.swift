import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NightshiftAPI

extension PageRequest {
    /// Copies the parts of a request that the gate checks.
    init(_ request: Request) {
        let head = request.head
        self.init(
            method: head.method.rawValue, target: head.path ?? "",
            hosts: (head.authority.map { [$0] } ?? []) + head.headerFields[values: .host],
            origins: head.headerFields[values: .origin], fetchSite: head.headerFields[.fetchSite],
            purpose: head.headerFields[.purpose],
            cookies: head.headerFields[values: .cookie], tokens: head.headerFields[values: .pageToken],
            contentType: head.headerFields[.contentType],
            hasBody: (head.headerFields[.contentLength] ?? "0") != "0"
                || head.headerFields[.transferEncoding] != nil)
    }
}

extension PageSession {
    static func fields(type: String) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in HeaderPolicy.fields {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        fields[.contentType] = type
        return fields
    }

    static func response(_ status: Int, _ type: String, _ bytes: [UInt8]) -> Response {
        guard status != 204 else {
            // A response with status 204 must not have Content-Length, so its body is declared with unknown length.
            return Response(
                status: .noContent, headers: fields(type: type), body: ResponseBody { try await $0.finish(nil) })
        }
        return Response(
            status: HTTPResponse.Status(code: status), headers: fields(type: type),
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static func plain(_ status: Int, _ words: String) -> Response {
        response(status, "text/plain; charset=utf-8", Array("\(words)\n".utf8))
    }

    static func file(_ file: Assets.File?) -> Response {
        guard let file else { return plain(404, RequestGate.Refusal.notFound.words) }
        return response(200, file.type, file.bytes)
    }

    static func json(_ value: some Encodable) -> Response {
        guard let bytes = try? JSON.encode(value) else {
            return plain(500, "The page could not encode its answer as JSON.")
        }
        return response(200, "application/json", Array(bytes))
    }

    static func problem(_ problem: Problem) -> Response {
        response(problem.status, "application/problem+json", Array((try? JSON.encode(problem)) ?? Data()))
    }

    /// Returns a response with status 502 for a service that does not respond. The status distinguishes this error from
    /// refusals by the service.
    static func unreachable(_ detail: String) -> Response {
        problem(
            Problem(
                type: "/problems/unreachable", title: "The service does not answer", status: 502, detail: detail))
    }

    /// Returns a redirect to the page, so that the address bar does not keep the link's secret.
    static func toPage() -> Response {
        var response = response(303, "text/plain; charset=utf-8", [])
        response.headers[.location] = "/"
        return response
    }
}

extension HTTPField.Name {
    // These names are valid tokens of RFC 9110, so no initializer returns nil.
    static let host = HTTPField.Name("Host")!
    static let origin = HTTPField.Name("Origin")!
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let purpose = HTTPField.Name("Sec-Purpose")!
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let pageToken = HTTPField.Name("Nightshift-Page")!
}
