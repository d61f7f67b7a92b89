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

/// The response of a background task, with the file name that Apple's documentation of `suggestedFilename` describes.
///
/// FoundationNetworking's has the name of the header field `Content-Disposition`, else `Unknown`.
final class BackgroundURLResponse: HTTPURLResponse, @unchecked Sendable {
    // Unchecked as its superclass is: nothing is changed after the initialiser.

    override var suggestedFilename: String? {
        let named = super.suggestedFilename
        let isNamed = value(forHTTPHeaderField: "Content-Disposition") != nil && named != "Unknown"
        if isNamed { return named }
        // An encoded slash is none of the path: nothing of a URL names a place in another folder.
        let last = (url?.lastPathComponent ?? "").replacing("/", with: "_").replacing("\0", with: "_")
        return ["", "_", ".", ".."].contains(last) ? url?.host ?? "unknown" : last
    }
}
