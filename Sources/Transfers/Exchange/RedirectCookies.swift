package import NightshiftAPI

/// The cookies that one exchange is given along its redirects (RFC 6265, section 5), and goes on with: they never outlive it.
///
/// A cookie goes back to the host that set it and, where it names a domain, to hosts below that one; never to a parent domain's other
/// hosts. Whether strangers share a parent domain (co.uk, github.io), only a list could say that changes every week.
package struct RedirectCookies: Sendable {
    private var cookies: [Cookie] = []
    /// The received cookies, for the app's own store.
    package private(set) var received: [SetCookie] = []

    fileprivate struct Cookie: Sendable {
        var name: String
        var value: String
        var host: String
        var goesBelow: Bool
        var path: String
        var isSecure: Bool
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
            guard let cookie = Self.cookie(text, origin, date) else { continue }
            cookies.removeAll { $0.name == cookie.name && $0.host == cookie.host && $0.path == cookie.path }
            cookies.append(cookie)
        }
    }

    /// The value of `Cookie` for the next request; nil for none.
    ///
    /// - Parameter given: what the request itself brings; cookies that were set since take the place of those.
    package func field(for url: String, given: String?) -> String? {
        let pairs = (given ?? "").split(separator: ";").map { String($0).trimmedOfBlanks }.filter { !$0.isEmpty }
        guard let target = try? TransferURL(parsing: url), !cookies.isEmpty else { return given }
        let matching = cookies.filter { $0.matches(target) }
        let names = Set(matching.map(\.name))
        let kept = pairs.filter { !names.contains(String($0.prefix { $0 != "=" })) }
        // Longer paths first.
        let sent = matching.filter { !$0.isGone }.sorted { $0.path.utf8.count > $1.path.utf8.count }
        let all = kept + sent.map { "\($0.name)=\($0.value)" }
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }

    private static func cookie(_ text: String, _ origin: TransferURL, _ date: Double?) -> Cookie? {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { String($0).trimmedOfBlanks }
        guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
        let name = String(pair[..<equals]).trimmedOfBlanks
        guard !name.isEmpty else { return nil }
        var cookie = Cookie(
            name: name, value: String(pair[pair.index(after: equals)...]).trimmedOfBlanks, host: origin.host,
            goesBelow: false, path: defaultPath(origin), isSecure: false, isGone: false)
        var lives: Bool?
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1).map { String($0).trimmedOfBlanks }
            let value = halves.dropFirst().first ?? ""
            switch halves.first?.lowercased() {
            case "domain":
                let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
                guard !domain.isEmpty else { continue }
                // Somebody else's: refused, as everywhere.
                guard origin.host == domain || origin.host.hasSuffix(".\(domain)") else { return nil }
                cookie.goesBelow = !isAddress(origin.host)
            case "path": if value.hasPrefix("/") { cookie.path = value }
            case "secure": cookie.isSecure = true
            case "max-age": if let seconds = Int64(value) { lives = seconds > 0 }
            // Without a clock here: the server's own, or a date that was over before any server was.
            case "expires": if lives == nil, let end = HTTPDate.parse(value) { lives = end > date ?? 946_684_800 }
            default: break
            }
        }
        cookie.isGone = lives == false
        let wantsSecrecy = cookie.isSecure || ["__secure-", "__host-"].contains { name.lowercased().hasPrefix($0) }
        guard origin.isSecure || !wantsSecrecy else { return nil }
        return cookie
    }

    /// The directory of the URL's path (section 5.1.4).
    private static func defaultPath(_ origin: TransferURL) -> String {
        let path = origin.path
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || host.allSatisfy { $0.isNumber || $0 == "." }
    }
}

extension RedirectCookies.Cookie {
    fileprivate func matches(_ target: TransferURL) -> Bool {
        guard target.host == host || goesBelow && target.host.hasSuffix(".\(host)") else { return false }
        guard target.isSecure || !isSecure else { return false }
        let asked = target.path
        return asked == path || asked.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }
}
