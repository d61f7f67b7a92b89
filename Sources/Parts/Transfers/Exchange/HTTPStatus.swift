/// Status codes and their explanations (RFC 9110, section 15, and the IANA registry).
package enum HTTPStatus {
    /// Returns whether the status reports a temporary error: 408, 425, 429 and every 5xx except 501 and 505.
    package static func isTransient(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429: true
        case 501, 505: false
        default: (500...599).contains(status)
        }
    }

    /// Returns whether a successful response carries the file or a part of it (RFC 9110, sections 6.4.2 and 15). This
    /// is true of 200, 203, 206, and statuses that are not in the registry, which count as 200. The other successful
    /// responses describe something else, or have no content.
    static func bringsRepresentation(_ status: Int) -> Bool {
        (200...299).contains(status) && ![201, 202, 204, 205, 207, 208, 226].contains(status)
    }

    /// Returns the status with its phrase, such as `404 Not Found`; only the number if the registry has no phrase.
    package static func name(_ status: Int) -> String {
        phrases[status].map { "\(status) \($0)" } ?? "\(status)"
    }

    /// Returns an explanation for display: what happened, and what the reader can do.
    ///
    /// - Parameters:
    ///   - hasCondition: whether the request had a condition.
    ///   - hasLogin: whether the task has a user name and a password for the server.
    static func explanation(_ status: Int, hasCondition: Bool, hasLogin: Bool) -> String {
        let answer = "The server answered \(name(status))"
        return switch status {
        case 401: loginExplanation(hasLogin: hasLogin)
        case 403: "\(answer): it does not permit this request."
        case 202: "\(answer): the file is not ready yet. Try again later."
        case 204, 205: "\(answer): there is no content at this URL, so there is no file to save."
        case 200...299: "\(answer): this response does not contain the file."
        case 304 where hasCondition, 412: "\(answer): the condition of the request is not met."
        case 304: "\(answer): it claims that the file has not changed, but the request had no condition."
        case 404, 410: "\(answer): there is no file at this URL."
        case 407: "\(answer): the proxy requires a user name and a password, or rejected those that were sent."
        case 300...399: "\(answer): this redirect cannot be followed."
        case 421: "\(answer): it does not serve this host name at this address."
        case 451: "\(answer): it is not available for legal reasons."
        case 600...: "\(answer), which is not a valid HTTP status."
        default: "\(answer)."
        }
    }

    /// Returns the explanation of 401 Unauthorized, for downloads and uploads.
    static func loginExplanation(hasLogin: Bool) -> String {
        "The server answered \(name(401)): "
            + (hasLogin
                ? "it rejected the user name or the password."
                : "it requires a user name and a password, and the transfer has none.")
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
