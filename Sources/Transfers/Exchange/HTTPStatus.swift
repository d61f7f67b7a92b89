/// Status codes in words (RFC 9110, section 15, and the IANA registry).
package enum HTTPStatus {
    /// Responses that stand for trouble that passes: 408, 425, 429 and every 5xx but 501 and 505.
    package static func isTransient(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429: true
        case 501, 505: false
        default: (500...599).contains(status)
        }
    }

    /// As `404 Not Found`; the number alone where the registry has no phrase.
    package static func name(_ status: Int) -> String {
        phrases[status].map { "\(status) \($0)" } ?? "\(status)"
    }

    /// What happened and what can be done, for a person.
    static func explanation(_ status: Int) -> String {
        let answer = "The server answered \(name(status))"
        return switch status {
        case 401: "\(answer): it wants a user name and a password, or did not accept those it got."
        case 403: "\(answer): it does not let this request in."
        case 304, 412: "\(answer): the condition that the request had does not hold."
        case 404, 410: "\(answer): there is nothing at this address."
        case 407: "\(answer): the proxy wants a user name and a password, or did not accept those it got."
        case 300...399: "\(answer): a redirect that cannot be followed."
        default: "\(answer)."
        }
    }

    private static let phrases: [Int: String] = [
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 510: "Not Extended", 511: "Network Authentication Required",
    ]
}
