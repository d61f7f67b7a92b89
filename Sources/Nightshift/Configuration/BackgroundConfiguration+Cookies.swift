import Foundation
import FoundationNetworking

extension BackgroundConfiguration {
    /// The value of the field `Cookie` for a request that has none of its own: what the storage has. Nil where none goes along.
    func storedCookies(for request: URLRequest) -> String? {
        guard httpShouldSetCookies, request.httpShouldHandleCookies, let url = request.url,
            let cookies = httpCookieStorage?.cookies(for: url), !cookies.isEmpty
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
