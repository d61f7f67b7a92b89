package import NightshiftAPI
package import Store

/// The cookies that one exchange is given along its redirects (RFC 6265, section 5), and goes on with: they never outlive it.
///
/// A cookie goes back to the host that set it and, where it names a domain, to hosts below that one; never to a parent domain's other
/// hosts. Whether strangers share a parent domain (co.uk, github.io), only a list could say that changes every week.
package struct RedirectCookies: Sendable {
    private var cookies: [Held] = []
    /// The received cookies, for the app's own store.
    package private(set) var received: [SetCookie] = []

    fileprivate struct Held: Sendable {
        var cookie: ReceivedCookie
        /// It was taken back: not even the app's own of that name goes to its host any more.
        var isGone: Bool
    }

    /// Cookies of one exchange at most.
    private static let most = 64
    /// Bytes of one cookie, as browsers have it.
    private static let largest = 4_096

    package init() {}

    /// Stores the cookies that a redirect's head sets.
    ///
    /// - Parameter url: the address that answered with the redirect.
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
            // Without a clock here: the server's own.
            cookies.append(Held(cookie: cookie, isGone: cookie.isTakenBack(at: date)))
        }
    }

    /// The value of `Cookie` for the next request; nil for none.
    ///
    /// - Parameter given: what the request itself brings; cookies that were set since take the place of those.
    package func field(for url: String, given: String?) -> String? {
        let pairs = (given ?? "").split(separator: ";").map { String($0).trimmedOfBlanks }.filter { !$0.isEmpty }
        guard let target = try? TransferURL(parsing: url), !cookies.isEmpty else { return given }
        let matching = cookies.filter { $0.matches(target) }
        let names = Set(matching.map(\.cookie.name))
        let kept = pairs.filter { !names.contains(String($0.prefix { $0 != "=" })) }
        // Longer paths first.
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
    /// Whether cookies that redirects set go along to where these lead.
    ///
    /// As in browsers and wget: servers that set one and redirect to the same URL would redirect without end. An app's library says
    /// whether its session wants them.
    package var sendsRedirectCookies: Bool { request.handlesCookies ?? (app == nil) }
}
