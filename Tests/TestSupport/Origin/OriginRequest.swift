/// A request as the origin saw it, and what became of it.
package struct OriginRequest: Sendable {
    /// Counts from 0 over all connections.
    package let number: Int
    /// Counts from 0; requests on one connection share it.
    package let connection: Int
    package let method: String
    /// As it stood in the request line.
    package let target: String
    package let fields: [HTTPField]
    package let received: ContinuousClock.Instant
    /// What has come of the body so far.
    package var body = RecordedBody()
    /// Of the final response; nil while, or where, there is none.
    package var status: Int?
    package var responseFields: [HTTPField] = []
    /// Bytes of the response's body that were handed to the kernel.
    package var bodyBytesSent: Int64 = 0
    /// The response is out, or the connection ended.
    package var isFinished = false

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    package var query: String? { target.contains("?") ? String(target.drop { $0 != "?" }.dropFirst()) : nil }

    /// The first field of that name, whatever its case.
    package func field(_ name: String) -> String? { fields.first(name) }
}

/// A request's body. Large ones are in a file that lives as long as the origin.
package struct RecordedBody: Sendable {
    package var length: Int64 = 0
    /// All of it, as long as it is no longer than ``memoryLimit``.
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

    /// Replaces what has that name, or appends.
    mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(HTTPField(name, value))
    }

    mutating func remove(_ name: String) {
        removeAll { $0.name.lowercased() == name.lowercased() }
    }
}
