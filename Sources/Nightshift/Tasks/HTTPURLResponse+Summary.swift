import Foundation
import FoundationNetworking
import NightshiftAPI

extension HTTPURLResponse {
    /// - Parameter url: where redirects have led.
    convenience init?(_ summary: ResponseSummary, url: URL) {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in summary.headers {
            let name = names[field.name.lowercased(), default: field.name]
            names[field.name.lowercased()] = name
            // As URLSession joins fields that come more than once (RFC 9110, section 5.2).
            fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
        }
        self.init(
            url: url, statusCode: summary.status, httpVersion: "HTTP/\(summary.httpVersion)", headerFields: fields)
    }
}
