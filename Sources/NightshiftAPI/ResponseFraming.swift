/// The way in which a response says where its body ends (RFC 9112, section 6.3; RFC 9113, section 8.1).
///
/// The only definition of a response's length: the transport, downloads and the library's data tasks all use it.
package enum ResponseFraming: Hashable, Sendable {
    /// No body follows, whatever the fields say: an answer to HEAD, 1xx, 204 and 304.
    case empty
    /// A length before the body. `Transfer-Encoding: identity` changes nothing, and takes no length away.
    case length(Int64)
    /// A mark within the message: the last chunk, or the end of a stream of HTTP/2 or HTTP/3.
    case marked
    /// The end of the connection.
    case connection
    /// Lengths that contradict each other, or that are no numbers: every end of the body may be the wrong one.
    case contradictory([String])

    /// - Parameters:
    ///   - method: the request's.
    ///   - httpVersion: "1.0", "1.1", "2" or "3".
    ///   - lengths: all values of `Content-Length`.
    ///   - codings: all values of `Transfer-Encoding`.
    package init(status: Int, method: String, httpVersion: String, lengths: [String], codings: [String]) {
        if method == "HEAD" || (100...199).contains(status) || status == 204 || status == 304 {
            self = .empty
            return
        }
        let codings = Self.members(codings).map { $0.prefix { $0 != ";" } }
            .map { String($0).trimmedOfBlanks.lowercased() }.filter { !$0.isEmpty && $0 != "identity" }
        guard codings.isEmpty else {
            // It overrides a length (RFC 9112, section 6.3).
            self = codings.contains("chunked") ? .marked : .connection
            return
        }
        let values = Set(Self.members(lengths))
        guard let value = values.first else {
            self = httpVersion.hasPrefix("2") || httpVersion.hasPrefix("3") ? .marked : .connection
            return
        }
        // The same length twice is a known mistake that does no harm.
        if values.count == 1, let length = Self.number(value) {
            self = .length(length)
        } else {
            self = .contradictory(values.sorted())
        }
    }

    /// The bytes of the body; nil where nothing says so before they have come.
    package var length: Int64? {
        switch self {
        case .empty: 0
        case .length(let length): length
        case .marked, .connection, .contradictory: nil
        }
    }

    private static func members(_ values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { String($0).trimmedOfBlanks }
    }

    private static func number(_ text: String) -> Int64? {
        text.utf8.allSatisfy(\.isASCIIDigit) ? Int64(text) : nil
    }
}
