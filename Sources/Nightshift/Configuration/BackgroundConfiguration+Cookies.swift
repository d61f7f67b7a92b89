import Foundation
import FoundationNetworking
import NightshiftAPI

extension BackgroundConfiguration {
    /// The value of the field `Cookie` for a request that has none of its own: what the storage has. Nil where none goes along.
    func storedCookies(for request: URLRequest) -> String? {
        guard httpShouldSetCookies, request.httpShouldHandleCookies, let url = request.url,
            let cookies = httpCookieStorage?.cookies(thatMayGoTo: url), !cookies.isEmpty
        else { return nil }
        return cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// The request with the storage's cookies in place of any others.
    func withStoredCookies(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue(storedCookies(for: request), forHTTPHeaderField: "Cookie")
        return request
    }
}

extension HTTPCookieStorage {
    /// The cookies that a request for `url` sends along, longer paths first (RFC 6265, section 5.4). Foundation on Linux looks at
    /// the host alone.
    fileprivate func cookies(thatMayGoTo url: URL) -> [HTTPCookie] {
        guard let target = try? TransferURL(parsing: url.absoluteString) else { return [] }
        return (cookies(for: url) ?? []).filter { cookie in
            let isOver = cookie.expiresDate.map { $0.timeIntervalSinceNow <= 0 } ?? false
            return !isOver && ReceivedCookie.mayGo(to: target, path: cookie.path, isSecure: cookie.isSecure)
        }
        .sorted { ($1.path.utf8.count, $0.name) < ($0.path.utf8.count, $1.name) }
    }
}
