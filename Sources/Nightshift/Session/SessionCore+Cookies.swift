import Foundation
import FoundationNetworking
import NightshiftAPI

/// Cookies that servers have set go to the session's cookie storage, as its policy and the request say.
extension SessionCore {
    func store(_ received: [SetCookie], of task: any BackgroundTask) {
        guard let storage = configuration.httpCookieStorage, let request = task.originalRequest,
            request.httpShouldHandleCookies, configuration.httpCookieAcceptPolicy != .never
        else { return }
        let document = request.mainDocumentURL ?? request.url
        for cookie in received {
            guard let url = URL(string: cookie.url) else { continue }
            if configuration.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain, !url.isOf(document) { continue }
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": cookie.value], for: url)
            // Judged above: the storage's own policy is for sessions that have none.
            storage.setCookies(cookies, for: url, mainDocumentURL: nil)
        }
    }
}

extension URL {
    /// Whether the host is the document's, or one below it.
    fileprivate func isOf(_ document: URL?) -> Bool {
        guard let host = host()?.lowercased(), let wanted = document?.host()?.lowercased() else { return false }
        return host == wanted || host.hasSuffix(".\(wanted)")
    }
}
