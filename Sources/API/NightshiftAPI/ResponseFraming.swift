/// The method by which a response marks the end of its body (RFC 9112, section 6.3; RFC 9113, section 8.1).
///
/// This is the only definition of the length of a response. The transport, downloads and the data tasks of the library
/// all use it.
package enum ResponseFraming: Hashable, Sendable {
    /// A response without a body, whatever the fields say: the response to HEAD, or a status of 1xx, 204 or 304.
    case empty
    /// A length that is given before the body. `Transfer-Encoding: identity` does not change this.
    case length(Int64)
    /// An end that is marked within the message: by the last chunk, or by the end of a stream of HTTP/2 or HTTP/3.
    case marked
    /// A body that ends with the connection.
    case connection
    /// Lengths that contradict each other or are not numbers, so that the end of the body is unknown.
    case contradictory([String])

    /// Determines the framing of a response.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - httpVersion: One of "1.0", "1.1", "2" and "3".
    ///   - lengths: All values of `Content-Length`.
    ///   - codings: All values of `Transfer-Encoding`.
    package init(status: Int, method: String, httpVersion: String, lengths: [String], codings: [String]) {
        if method == "HEAD" || (100...199).contains(status) || status == 204 || status == 304 {
            self = .empty
            return
        }
        let codings = Self.members(codings).map { $0.prefix { $0 != ";" } }
            .map { String($0).trimmedOfBlanks.lowercased() }.filter { !$0.isEmpty && $0 != "identity" }
        guard codings.isEmpty else {
            // A transfer coding overrides a length (RFC 9112, section 6.3).
            self = codings.contains("chunked") ? .marked : .connection
            return
        }
        let values = Set(Self.members(lengths))
        guard let value = values.first else {
            self = httpVersion.hasPrefix("2") || httpVersion.hasPrefix("3") ? .marked : .connection
            return
        }
        // Some servers repeat the same length by mistake, which does no harm.
        if values.count == 1, let length = Self.number(value) {
            self = .length(length)
        } else {
            self = .contradictory(values.sorted())
        }
    }

    /// The number of bytes in the body; nil if it is unknown until the body has arrived.
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
