import HTTPTypes
import HummingbirdCore
import NightshiftAPI

/// A check that refuses requests which a web page could have sent, through a proxy or by DNS rebinding. This API is
/// only for programs.
enum RequestOrigin {
    static let hosts: Set<String> = ["localhost", "nightshift"]

    static func check(_ head: HTTPRequest) throws(Problem) {
        guard head.headerFields[.origin] == nil else {
            throw .forbidden("Requests with an Origin field come from web pages and are refused.")
        }
        guard let path = head.path, path.hasPrefix("/") else {
            throw .badRequest("The request target must be a path such as /v1/status.")
        }
        guard let authority = head.authority, !authority.isEmpty else {
            throw .badRequest("The Host field is missing. It must be 'localhost'.")
        }
        // HTTPTypes stores the first host as the authority.
        guard head.headerFields[.host] == nil else {
            throw .badRequest("The request has more than one host. Send 'localhost' once.")
        }
        guard isAllowed(authority) else {
            throw .forbidden("The Host field must be 'localhost' or 'nightshift', not '\(authority)'.")
        }
    }

    private static func isAllowed(_ authority: String) -> Bool {
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard hosts.contains(parts[0].lowercased()) else { return false }
        return parts.count == 1 || (!parts[1].isEmpty && parts[1].allSatisfy { $0.isASCII && $0.isNumber })
    }
}

extension HTTPField.Name {
    static let host = HTTPField.Name("Host")!  // The name is a valid token (RFC 9110), so it is not nil.
    static let origin = HTTPField.Name("Origin")!  // The name is a valid token (RFC 9110), so it is not nil.
}
