import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import NightshiftAPI

/// A decoder of request bodies. It checks type, size, syntax and keys in this order, and reports a different problem
/// for each.
struct RequestDecoder: Sendable {
    private let largeBodies = AsyncSemaphore(permits: ConnectionLimits.largeBodies)
    private let timeout: Duration

    init(timeout: Duration = ConnectionLimits.bodyTimeout) {
        self.timeout = timeout
    }

    /// Decodes the body as `Value`.
    ///
    /// - Parameter limit: The maximum size of the body in bytes.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type, from request: Request, limit: Int = ConnectionLimits.smallBody
    ) async throws -> Value {
        guard let value = try await decodeIfPresent(type, from: request, limit: limit) else {
            throw Problem.badRequest("The request needs a JSON body. See /v1/openapi.json.")
        }
        return value
    }

    /// Decodes the body as `Value`, or returns nil if there is no body.
    func decodeIfPresent<Value: Decodable & Sendable>(
        _ type: Value.Type, from request: Request, limit: Int = ConnectionLimits.smallBody
    ) async throws -> Value? {
        let length = request.headers[.contentLength].flatMap(Int.init)
        if let length, length > limit { throw Self.tooLarge(limit) }
        let schema = try OpenAPI.requestSchema(for: String(describing: Value.self))
        if let length, length <= ConnectionLimits.turnlessBody {
            let body = try await Self.collect(request, limit: limit)
            guard body.readableBytes > 0 else { return nil }
            try Self.checkContentType(request)
            return try Self.decode(type, from: body, schema: schema)
        }
        guard length != nil || request.headers[.transferEncoding] != nil else { return nil }
        // The content type is checked before reading. A request without a content type may have an empty body. With
        // chunked encoding, the decoder learns only at the end of the body that the body is empty.
        if request.headers[.contentType] != nil { try Self.checkContentType(request) }
        return try await largeBodies.withPermit {
            let body = try await collectInTurn(request, limit: limit)
            guard body.readableBytes > 0 else { return nil }
            try Self.checkContentType(request)
            // Decoding may take tens of milliseconds, so it does not run on the threads that all requests share.
            return try await NIOThreadPool.singleton.runIfActive {
                try Self.decode(type, from: body, schema: schema)
            }
        }
    }

    /// Reads the body as a PNG of at most `limit` bytes.
    func picture(from request: Request, limit: Int) async throws -> [UInt8] {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Self.tooLarge(limit) }
        try Self.checkContentType(request, is: "image/png")
        return try await largeBodies.withPermit {
            [UInt8](try await collectInTurn(request, limit: limit).readableBytesView)
        }
    }

    /// Reads a body within a time limit, because other large bodies wait until this body is read. Throws
    /// ``StalledBody`` if the body does not arrive in time, which means that its sender may be suspended.
    private func collectInTurn(_ request: Request, limit: Int) async throws -> ByteBuffer {
        let timeout = timeout
        return try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask { try await Self.collect(request, limit: limit) }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw StalledBody()
            }
            defer { group.cancelAll() }
            guard let body = try await group.next() else { throw StalledBody() }
            return body
        }
    }

    private static func collect(_ request: Request, limit: Int) async throws -> ByteBuffer {
        do {
            return try await request.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw tooLarge(limit)
        }
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, from body: ByteBuffer, schema: Schema
    ) throws -> Value {
        let data = Data(body.readableBytesView)
        // JSONDecoder also accepts UTF-16 and UTF-32, which RFC 8259, section 8.1 does not allow.
        guard let first = data.first, first > 0, first < 0x80, !data.prefix(4).contains(0) else {
            throw Problem.badRequest("The body must be JSON in UTF-8.")
        }
        let value: Value
        do {
            value = try JSON.decode(type, from: data)
        } catch let error as DecodingError {
            // JSONDecoder does not report the position of a number that does not fit.
            if (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil {
                try BodyCheck.check(data, against: schema)
            }
            throw Problem(error, schema: schema)
        }
        try BodyCheck.check(data, against: schema)
        return value
    }

    private static func checkContentType(
        _ request: Request, is type: String = "application/json"
    ) throws(Problem) {
        let given = request.headers[.contentType]
        let essence = given?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased()
        guard essence == type else {
            let found = given.map { "'\($0)'" } ?? "missing"
            throw .unsupportedMediaType("The Content-Type must be \(type), but is \(found).")
        }
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        .tooLarge("The body of this request may have at most \(limit) bytes.")
    }
}

/// The error that the rest of a body did not arrive in time. The connection is closed without a response, as if the
/// client had closed it in the middle of the request.
struct StalledBody: Error {}
