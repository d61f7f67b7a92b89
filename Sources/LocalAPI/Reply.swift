import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOPosix
import NightshiftAPI

/// An answer that is complete in memory.
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
            // A body of unknown length keeps Content-Length, which a 204 must not have, out of the head.
            return Response(
                status: status, headers: headers,
                body: status == .noContent ? ResponseBody { try await $0.finish(nil) } : ResponseBody())
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Reply {
        Reply(status: status, contentType: "application/json", bytes: ByteBuffer(bytes: try JSON.encode(value)))
    }

    /// A page of many members: its encoding takes milliseconds, and not those of the threads that all requests share.
    static func page(_ value: some Encodable & Sendable) async throws -> Reply {
        try await NIOThreadPool.singleton.runIfActive { try json(value) }
    }

    /// JSON that is there already.
    static func json(bytes: ByteBuffer) -> Reply {
        Reply(status: .ok, contentType: "application/json", bytes: bytes)
    }

    static func empty(_ status: HTTPResponse.Status) -> Reply {
        Reply(status: status)
    }

    static func problem(_ problem: Problem, allow: [HTTPRequest.Method]? = nil) -> Reply {
        // A problem is five plain values: its encoding cannot fail, and if it did the status would still be right.
        let bytes = (try? JSON.encode(problem)) ?? Data()
        var reply = Reply(
            status: HTTPResponse.Status(code: problem.status), contentType: "application/problem+json",
            bytes: ByteBuffer(bytes: bytes))
        if let allow { reply.headers[.allow] = allow.map(\.rawValue).joined(separator: ", ") }
        return reply
    }
}

extension Reply {
    /// A PNG file that was looked at.
    static func picture(_ bytes: [UInt8]) -> Reply {
        var reply = Reply(status: .ok, contentType: "image/png", bytes: ByteBuffer(bytes: bytes))
        reply.headers[.xContentTypeOptions] = "nosniff"
        return reply
    }
}

extension HTTPFields {
    /// What every answer carries.
    static var common: HTTPFields {
        [
            .version: NightshiftVersion.current,
            .date: HTTPDate.format(Date().timeIntervalSince1970),
            .cacheControl: "no-store",
        ]
    }
}

extension HTTPField.Name {
    /// The service's version.
    static let version = HTTPField.Name("Nightshift-Version")!  // A token as RFC 9110 wants it: cannot be nil.
    static let lastEventID = HTTPField.Name("Last-Event-ID")!  // Likewise.
}
