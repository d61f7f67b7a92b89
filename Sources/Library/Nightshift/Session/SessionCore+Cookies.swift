import Foundation
import FoundationNetworking
import NightshiftAPI

/// Stores cookies from servers in the session's cookie storage, according to the session's accept policy and the
/// request.
extension SessionCore {
    func store(_ received: [SetCookie], of task: URLSessionTask) {
        guard let storage = configuration.httpCookieStorage, let request = task.originalRequest,
            request.httpShouldHandleCookies, configuration.httpCookieAcceptPolicy != .never
        else { return }
        let document = request.mainDocumentURL ?? request.url
        for field in received {
            guard let url = URL(string: field.url) else { continue }
            if configuration.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain, !url.isOf(document) { continue }
            guard let cookie = HTTPCookie(field, from: url) else { continue }
            // The session's policy was checked above. The policy of the storage itself applies only to sessions without
            // a policy.
            storage.setCookies([cookie], for: url, mainDocumentURL: nil)
        }
    }
}

extension HTTPCookie {
    /// Parses a `Set-Cookie` field. Foundation's parser on Linux is not used, because it traps on names that contain
    /// non-ASCII characters.
    fileprivate convenience init?(_ field: SetCookie, from url: URL) {
        guard let origin = try? TransferURL(parsing: field.url),
            let cookie = ReceivedCookie(parsing: field.value, from: origin)
        else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .path: cookie.path, .originURL: url,
        ]
        if let domain = cookie.domain { properties[.domain] = ".\(domain)" }
        if let end = cookie.end(now: Date.now.timeIntervalSince1970) {
            properties[.expires] = Date(timeIntervalSince1970: end)
        }
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        self.init(properties: properties)
    }
}

extension URL {
    /// Whether the URL's host is the host of the document or a subdomain of it.
    fileprivate func isOf(_ document: URL?) -> Bool {
        guard let host = host()?.lowercased(), let wanted = document?.host()?.lowercased() else { return false }
        return host == wanted || host.hasSuffix(".\(wanted)")
    }
}
