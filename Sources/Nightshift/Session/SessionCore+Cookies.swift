import Foundation
import FoundationNetworking
import NightshiftAPI

/// Cookies that servers have set go to the session's cookie storage, as its policy and the request say.
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
            // Judged above: the storage's own policy is for sessions that have none.
            storage.setCookies([cookie], for: url, mainDocumentURL: nil)
        }
    }
}

extension HTTPCookie {
    /// What a server has set. Foundation's own parser on Linux traps at names with characters outside of ASCII.
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
    /// Whether the host is the document's, or one below it.
    fileprivate func isOf(_ document: URL?) -> Bool {
        guard let host = host()?.lowercased(), let wanted = document?.host()?.lowercased() else { return false }
        return host == wanted || host.hasSuffix(".\(wanted)")
    }
}
