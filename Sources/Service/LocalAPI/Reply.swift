import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOPosix
import NightshiftAPI

/// A response that is completely in memory.
struct Reply: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var bytes: ByteBuffer

    private init(status: HTTPResponse.Status, contentType: String? = nil, bytes: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.bytes = bytes
        headers = .common
        if let contentType { headers[.contentType] = contentType }
        if status != .noContent { headers[.contentLength] = String(bytes.readableBytes) }
    }

    var response: Response {
        guard bytes.readableBytes > 0 else {
            // A body of unknown length prevents a Content-Length field. A 204 response must not have that field.
            return Response(
                status: status, headers: headers,
                body: status == .noContent ? ResponseBody { try await $0.finish(nil) } : ResponseBody())
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Reply {
        Reply(status: status, contentType: "application/json", bytes: ByteBuffer(bytes: try JSON.encode(value)))
    }

    /// Returns a response with a page of many elements. Encoding takes milliseconds, so it does not run on the threads
    /// that all requests share.
    static func page(_ value: some Encodable & Sendable) async throws -> Reply {
        try await NIOThreadPool.singleton.runIfActive { try json(value) }
    }

    /// Returns a response with encoded JSON.
    static func json(bytes: ByteBuffer) -> Reply {
        Reply(status: .ok, contentType: "application/json", bytes: bytes)
    }

    static func empty(_ status: HTTPResponse.Status) -> Reply {
        Reply(status: status)
    }

    static func problem(_ problem: Problem, allow: [HTTPRequest.Method]? = nil) -> Reply {
        // A problem has five simple values, so encoding cannot fail. If it did, the status would still be correct.
        let bytes = (try? JSON.encode(problem)) ?? Data()
        var reply = Reply(
            status: HTTPResponse.Status(code: problem.status), contentType: "application/problem+json",
            bytes: ByteBuffer(bytes: bytes))
        if let allow { reply.headers[.allow] = allow.map(\.rawValue).joined(separator: ", ") }
        return reply
    }
}

extension Reply {
    /// Returns a response with a validated PNG.
    static func picture(_ bytes: [UInt8]) -> Reply {
        var reply = Reply(status: .ok, contentType: "image/png", bytes: ByteBuffer(bytes: bytes))
        reply.headers[.xContentTypeOptions] = "nosniff"
        return reply
    }
}

extension HTTPFields {
    /// The header fields of every response.
    static var common: HTTPFields {
        [
            .version: NightshiftVersion.current,
            .date: HTTPDate.format(Date().timeIntervalSince1970),
            .cacheControl: "no-store",
        ]
    }
}

extension HTTPField.Name {
    // These names are valid tokens (RFC 9110), so they are not nil.

    /// The field with the version of the service.
    static let version = HTTPField.Name("Nightshift-Version")!
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
