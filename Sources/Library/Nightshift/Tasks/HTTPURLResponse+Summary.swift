import Foundation
import FoundationNetworking
import NightshiftAPI

extension HTTPURLResponse {
    /// Makes a response from the service's summary of it.
    ///
    /// - Parameter url: The URL after redirects.
    convenience init?(_ summary: ResponseSummary, url: URL) {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in summary.headers {
            let name = names[field.name.lowercased(), default: field.name]
            names[field.name.lowercased()] = name
            // Repeated fields are joined as in URLSession (RFC 9110, section 5.2).
            fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
        }
        self.init(
            url: url, statusCode: summary.status, httpVersion: "HTTP/\(summary.httpVersion)", headerFields: fields)
    }
}

/// The response of a background task. Its `suggestedFilename` follows Apple's documentation.
///
/// The base class in FoundationNetworking only uses the name in the header field `Content-Disposition`, or `Unknown` if
/// the field has no name.
final class BackgroundURLResponse: HTTPURLResponse, @unchecked Sendable {
    // This class is unchecked because its superclass is unchecked too. No property changes after the initialiser.

    override var suggestedFilename: String? {
        let named = super.suggestedFilename
        let isNamed = value(forHTTPHeaderField: "Content-Disposition") != nil && named != "Unknown"
        if isNamed { return named }
        // A slash that the URL encodes is not a folder separator. It is replaced, so that no URL can name a file in
        // another folder.
        let last = (url?.lastPathComponent ?? "").replacing("/", with: "_").replacing("\0", with: "_")
        return ["", "_", ".", ".."].contains(last) ? url?.host ?? "unknown" : last
    }
}
