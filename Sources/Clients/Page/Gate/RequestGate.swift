import HTTPServing
import NightshiftClient

/// A gate that decides how each request is answered. It allows only requests that come from this page in the user's
/// browser.
///
/// Each check stops a different attack. The exact `Host` stops DNS rebinding. The exact `Origin` and `Sec-Fetch-Site`
/// stop requests by other pages. A page on another port of 127.0.0.1 belongs to the same site, so the browser sends the
/// cookie with its requests. The cookie stops clients that never had the link. The token, which only scripts of the
/// page can read, stops cross-site request forgery.
struct RequestGate: Sendable {
    /// The port on which the page is served.
    let port: Int
    /// The secret that the cookie must contain.
    let cookie: Secret
    /// The secret that requests must carry to change something.
    let token: Secret

    enum Decision: Hashable, Sendable {
        /// A link with its secret. The link may have been used already.
        case link(String)
        /// A link that a browser with the cookie has followed. The browser is redirected to the page.
        case toPage
        case page
        case asset(String)
        /// A request for the page's constants (``Setup``).
        case setup
        /// A request for a timeline.
        case timeline(TimelineQuery)
        case api(ForwardedRequest)
        case refused(Refusal)
    }

    /// The reason for a refusal, with a sentence for the user.
    enum Refusal: Hashable, Sendable {
        case host
        case origin
        case site
        case prefetch
        case noCookie
        case token
        case method
        case contentType
        case notFound

        var status: Int {
            switch self {
            case .host, .origin, .site, .prefetch, .noCookie, .token: 403
            case .method: 405
            case .contentType: 415
            case .notFound: 404
            }
        }

        var words: String {
            switch self {
            case .host: "This is not the page's address. Open the page with: nightshift page"
            case .origin, .site: "Only the page itself can send this request."
            case .prefetch: "The link was prefetched. It works once: open it yourself."
            case .noCookie: "This browser has no access to the page. Open it with: nightshift page"
            case .token: "The request lacks the page's token. Reload the page."
            case .method: "The page does not support this method."
            case .contentType: "The body's type must be application/json."
            case .notFound: "Not found."
            }
        }
    }

    /// The cookie's name. It contains the port, because browsers send cookies to every port of a host.
    var cookieName: String { "nightshift-\(port)" }
    var host: String { "127.0.0.1:\(port)" }
    var origin: String { "http://\(host)" }

    func decide(_ request: PageRequest) -> Decision {
        guard request.hosts == [host] else { return .refused(.host) }
        guard request.origins.allSatisfy({ $0 == origin }), request.origins.count <= 1 else { return .refused(.origin) }
        if let link = link(request) { return link }
        let isNavigation = request.method == "GET" && request.path == "/"
        switch request.fetchSite {
        case nil, "same-origin": break
        // The user typed the address, or another program opened it.
        case "none" where isNavigation: break
        default: return .refused(.site)
        }
        guard isLetIn(request) else { return .refused(.noCookie) }
        if request.method == "GET" { return look(request) }
        // Browsers send `Origin` with every request except GET and HEAD (Fetch, section 3.2).
        guard request.origins == [origin] else { return .refused(.origin) }
        guard request.tokens.count == 1, token.matches(request.tokens[0]) else { return .refused(.token) }
        guard ["POST", "PATCH", "DELETE"].contains(request.method) else { return .refused(.method) }
        if request.hasBody, request.contentType != "application/json" { return .refused(.contentType) }
        guard let forwarded = ForwardedRequest(method: request.method, path: request.target) else {
            return .refused(.notFound)
        }
        return .api(forwarded)
    }

    static let linkPrefix = "/open/"
    static let assetPrefix = "/page/"

    private func link(_ request: PageRequest) -> Decision? {
        guard request.method == "GET", request.target.hasPrefix(Self.linkPrefix) else { return nil }
        // Refuse a link that another page requested, because the request would use the link up.
        guard [nil, "none", "same-origin"].contains(request.fetchSite) else { return .refused(.site) }
        if isLetIn(request) { return .toPage }
        // Refuse a prefetch, because it would use the link up.
        guard request.purpose == nil else { return .refused(.prefetch) }
        return .link(String(request.target.dropFirst(Self.linkPrefix.count)))
    }

    private func isLetIn(_ request: PageRequest) -> Bool {
        let values = Cookies.values(of: cookieName, in: request.cookies)
        return values.count == 1 && cookie.matches(values[0])
    }

    private func look(_ request: PageRequest) -> Decision {
        if request.target == "/" { return .page }
        if request.target == Self.assetPrefix + "setup.json" { return .setup }
        if request.path == Self.assetPrefix + "timeline.json" {
            return TimelineQuery(request.target).map { .timeline($0) } ?? .refused(.notFound)
        }
        if request.target.hasPrefix(Self.assetPrefix) {
            return .asset(String(request.target.dropFirst(Self.assetPrefix.count)))
        }
        return ForwardedRequest(method: request.method, path: request.target).map { .api($0) } ?? .refused(.notFound)
    }
}
