import Foundation
import FoundationNetworking
import NightshiftAPI

extension HTTPURLResponse {
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

/// The response of a background task, with the file name that Apple's documentation of `suggestedFilename` describes.
///
/// FoundationNetworking's response has the name of the header field `Content-Disposition`, or otherwise `Unknown`.
final class BackgroundURLResponse: HTTPURLResponse, @unchecked Sendable {
    // Unchecked because its superclass is unchecked too. No property changes after the initialiser.

    override var suggestedFilename: String? {
        let named = super.suggestedFilename
        let isNamed = value(forHTTPHeaderField: "Content-Disposition") != nil && named != "Unknown"
        if isNamed { return named }
        // An encoded slash does not separate folders here, so that no URL can name a file in another folder.
        let last = (url?.lastPathComponent ?? "").replacing("/", with: "_").replacing("\0", with: "_")
        return ["", "_", ".", ".."].contains(last) ? url?.host ?? "unknown" : last
    }
}
