import Foundation
import NightshiftAPI

/// An HTTP response that a client has received.
struct Answer: Sendable {
    var status: Int
    /// The header fields, by their names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    /// Parses a response; nil until the head is complete.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines.removeFirst().split(separator: " ")
        guard words.count > 1, let code = Int(words[1]) else { return nil }
        status = code
        headers = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        body = Array(bytes[end.upperBound...])
    }

    var isWhole: Bool {
        body.count >= (headers["content-length"].flatMap { Int($0) } ?? 0)
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSON.decode(type, from: Data(body))
    }

    /// The problem document. Throws if the response is not one.
    var problem: Problem {
        get throws {
            guard headers["content-type"] == "application/problem+json" else {
                throw NotAProblem(status: status, text: text)
            }
            return try decode(Problem.self)
        }
    }

    struct NotAProblem: Error {
        var status: Int
        var text: String
    }
}
