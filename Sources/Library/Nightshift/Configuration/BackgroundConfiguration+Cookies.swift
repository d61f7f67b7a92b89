import Foundation
import FoundationNetworking
import NightshiftAPI

extension BackgroundConfiguration {
    /// Returns the value of the `Cookie` field for a request whose app has not set this field. The cookies come from
    /// the cookie storage. Returns nil if no cookie is to be sent.
    func storedCookies(for request: URLRequest) -> String? {
        guard httpShouldSetCookies, request.httpShouldHandleCookies, let url = request.url,
            let cookies = httpCookieStorage?.cookies(thatMayGoTo: url), !cookies.isEmpty
        else { return nil }
        return cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Returns the request with its `Cookie` field replaced by the storage's cookies.
    func withStoredCookies(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue(storedCookies(for: request), forHTTPHeaderField: "Cookie")
        return request
    }
}

extension HTTPCookieStorage {
    /// Returns the cookies to send with a request for `url`. Cookies with longer paths come first (RFC 6265, section
    /// 5.4). This function is needed because Foundation on Linux compares only the host.
    fileprivate func cookies(thatMayGoTo url: URL) -> [HTTPCookie] {
        guard let target = try? TransferURL(parsing: url.absoluteString) else { return [] }
        return (cookies(for: url) ?? []).filter { cookie in
            let isOver = cookie.expiresDate.map { $0.timeIntervalSinceNow <= 0 } ?? false
            return !isOver && ReceivedCookie.mayGo(to: target, path: cookie.path, isSecure: cookie.isSecure)
        }
        .sorted { ($1.path.utf8.count, $0.name) < ($0.path.utf8.count, $1.name) }
    }
}
