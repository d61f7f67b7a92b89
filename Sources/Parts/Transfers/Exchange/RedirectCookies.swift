package import NightshiftAPI
package import Store

/// The cookies that redirects set during one exchange (RFC 6265, section 5). They are sent with its later requests and
/// never outlive it.
///
/// A cookie is sent to the host that set it. If it names a domain, it is sent to the subdomains of that host, too, but
/// never to other hosts of a parent domain. Unrelated owners may share a parent domain (co.uk, github.io), and a list
/// of such domains changes every week.
package struct RedirectCookies: Sendable {
    private var cookies: [Held] = []
    /// The received cookies, for the app's own cookie store.
    package private(set) var received: [SetCookie] = []

    fileprivate struct Held: Sendable {
        var cookie: ReceivedCookie
        /// Whether the server has deleted the cookie. The app's own cookie of this name is then not sent to the host
        /// either.
        var isGone: Bool
    }

    /// The maximum number of cookies in one exchange.
    private static let most = 64
    /// The largest cookie in bytes; browsers use the same limit.
    private static let largest = 4_096

    package init() {}

    /// Stores the cookies that a redirect response sets.
    ///
    /// - Parameter url: the address that sent the redirect.
    package mutating func store(_ headers: [HeaderField], from url: String) {
        guard let origin = try? TransferURL(parsing: url) else { return }
        let date = headers.first("Date").flatMap { HTTPDate.parse($0) }
        for text in headers.all("Set-Cookie")
        where text.utf8.count <= Self.largest && received.count < Self.most {
            received.append(SetCookie(url: url, value: text))
            guard let cookie = ReceivedCookie(parsing: text, from: origin) else { continue }
            cookies.removeAll { held in
                held.cookie.name == cookie.name && held.cookie.host == cookie.host && held.cookie.path == cookie.path
            }
            // This code has no clock, so the server's `Date` is used.
            cookies.append(Held(cookie: cookie, isGone: cookie.isTakenBack(at: date)))
        }
    }

    /// Returns the value of the `Cookie` field for the next request; nil if no cookie applies.
    ///
    /// - Parameter given: the request's own `Cookie` value. Cookies that were set later replace those of the same name.
    package func field(for url: String, given: String?) -> String? {
        let pairs = (given ?? "").split(separator: ";").map { String($0).trimmedOfBlanks }.filter { !$0.isEmpty }
        guard let target = try? TransferURL(parsing: url), !cookies.isEmpty else { return given }
        let matching = cookies.filter { $0.matches(target) }
        let names = Set(matching.map(\.cookie.name))
        let kept = pairs.filter { !names.contains(String($0.prefix { $0 != "=" })) }
        // Cookies with longer paths come first.
        let sent = matching.filter { !$0.isGone }.map(\.cookie).sorted { $0.path.utf8.count > $1.path.utf8.count }
        let all = kept + sent.map { "\($0.name)=\($0.value)" }
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }
}

extension RedirectCookies.Held {
    fileprivate func matches(_ target: TransferURL) -> Bool {
        let host = cookie.host
        guard target.host == host || cookie.domain != nil && target.host.hasSuffix(".\(host)") else { return false }
        return ReceivedCookie.mayGo(to: target, path: cookie.path, isSecure: cookie.isSecure)
    }
}

extension TaskRecord {
    /// Whether cookies that a redirect sets are sent to the redirect's target.
    ///
    /// Browsers and wget do this: a server that sets a cookie and redirects to the same URL would otherwise redirect
    /// endlessly. For a task of an app, the library in the app decides, depending on the session.
    package var sendsRedirectCookies: Bool { request.handlesCookies ?? (app == nil) }
}
