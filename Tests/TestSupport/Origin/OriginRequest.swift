/// A request that the origin received, with its outcome.
package struct OriginRequest: Sendable {
    /// The number of the request over all connections, counted from 0.
    package let number: Int
    /// The number of the connection, counted from 0. Requests on one connection share it.
    package let connection: Int
    package let method: String
    /// The target exactly as in the request line.
    package let target: String
    package let fields: [HTTPField]
    package let received: ContinuousClock.Instant
    /// The part of the body that was received so far.
    package var body = RecordedBody()
    /// The status of the final response, or nil if it has not been sent.
    package var status: Int?
    package var responseFields: [HTTPField] = []
    /// The number of bytes of the response's body that were written to the socket.
    package var bodyBytesSent: Int64 = 0
    /// Whether the response was sent or the connection ended.
    package var isFinished = false

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    package var query: String? { target.contains("?") ? String(target.drop { $0 != "?" }.dropFirst()) : nil }

    /// Returns the first field of that name, compared without regard to case.
    package func field(_ name: String) -> String? { fields.first(name) }
}

/// The body of a request. A large body is in a file that exists as long as the origin.
package struct RecordedBody: Sendable {
    package var length: Int64 = 0
    /// The whole body if it is not longer than ``memoryLimit``.
    package var bytes: [UInt8] = []
    package var file: String?

    package static let memoryLimit = 1 << 20

    package func sha256() throws -> [UInt8] {
        guard let file else { return SHA256.hash(bytes) }
        return SHA256.hash(try fileBytes(file))
    }

    package func matches(_ content: Content) throws -> Bool {
        if let file { return try content.firstMismatch(inFileAt: file) == nil }
        return content.size == length && content.bytes(0..<length) == bytes
    }
}

extension [HTTPField] {
    package func first(_ name: String) -> String? {
        first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Replaces the field with this name, or appends the field.
    mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(HTTPField(name, value))
    }

    mutating func remove(_ name: String) {
        removeAll { $0.name.lowercased() == name.lowercased() }
    }
}
