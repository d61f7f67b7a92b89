import NightshiftClient

/// Decides what a request gets: nothing, unless it can only have come from this page in the browser of its user.
///
/// Each check stops somebody else. The exact `Host` stops a name that a foreign page's server has pointed at this machine;
/// the exact `Origin` and `Sec-Fetch-Site` stop other pages, also those of another port, which a browser counts as the same
/// site and sends the cookie to; the cookie stops everybody who was not given the link; and the token, which only a script
/// of the page can read, stops a request that a foreign page makes the browser send.
struct RequestGate: Sendable {
    /// Where the page is, from the kernel: nothing else is answered.
    let port: Int
    /// What the cookie holds.
    let cookie: Secret
    /// What requests that change something carry.
    let token: Secret

    enum Decision: Hashable, Sendable {
        /// The link was followed, with what it holds. The caller knows whether it is still good.
        case link(String)
        /// The link was followed once more by a browser that is let in already.
        case toPage
        case page
        case asset(String)
        /// What the page has to know before it asks the service.
        case setup
        case api(ForwardedRequest)
        case refused(Refusal)
    }

    /// Why nothing is answered; the words are for the person who sees them.
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
            case .host: "This is not the page's own address."
            case .origin, .site: "This page answers nobody but itself."
            case .prefetch: "The link works once, and only where you follow it yourself."
            case .noCookie: "This browser is not let in, or not any more. Open the page with: nightshift page"
            case .token: "A change needs the page's own token. Load the page again."
            case .method: "There is no such method here."
            case .contentType: "The body has to be application/json."
            case .notFound: "There is nothing here."
            }
        }
    }

    /// Of this page alone: browsers keep cookies by host, whatever the port.
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
        // Typed by hand, or opened by another program.
        case "none" where isNavigation: break
        default: return .refused(.site)
        }
        guard isLetIn(request) else { return .refused(.noCookie) }
        if request.method == "GET" { return look(request) }
        // Browsers name the origin of every request that is none of these (Fetch, section 3.2).
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
        // A foreign page that has the link could only use it up.
        guard [nil, "none", "same-origin"].contains(request.fetchSite) else { return .refused(.site) }
        if isLetIn(request) { return .toPage }
        // A prefetch would use the link up.
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
        if request.target.hasPrefix(Self.assetPrefix) {
            return .asset(String(request.target.dropFirst(Self.assetPrefix.count)))
        }
        return ForwardedRequest(method: request.method, path: request.target).map { .api($0) } ?? .refused(.notFound)
    }
}
