/// A gate that admits requests from programs of this machine, and from web pages that the user allowed.
///
/// The secret protects each method. The gate stops web pages before that: the name in `Host` stops DNS rebinding, and
/// `Origin` stops other pages. Extensions of browsers are admitted, because only their users can install them.
struct BridgeGate: Hashable, Sendable {
    /// The origins of web pages that may use the bridge, such as `http://127.0.0.1:8080`.
    var allowedOrigins: Set<String>

    enum Decision: Hashable, Sendable {
        /// The request is admitted. `origin` is the page that may read the response.
        case admitted(origin: String?)
        case refused(Refusal)
    }

    enum Refusal: String, Sendable {
        case host = "This is not an address of the bridge. Use 127.0.0.1 or localhost."
        case origin = "This web page may not use the bridge. Allow it with: nightshift aria2 --allow-origin ORIGIN"
    }

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - hosts: the values of all `Host` fields.
    ///   - origins: the values of all `Origin` fields.
    func decide(hosts: [String], origins: [String]) -> Decision {
        guard hosts.count == 1, Self.isOwn(hosts[0].lowercased()) else { return .refused(.host) }
        guard let origin = origins.first else { return .admitted(origin: nil) }
        guard origins.count == 1 else { return .refused(.origin) }
        // Some libraries for WebSockets send the address of the server itself.
        if origin.lowercased() == "http://" + hosts[0].lowercased() { return .admitted(origin: nil) }
        if allowedOrigins.contains(origin) { return .admitted(origin: origin) }
        return Self.isExtension(origin) ? .admitted(origin: origin) : .refused(.origin)
    }

    /// Whether a value of `Host` names this machine. Any port is accepted, because a client of `ssh -L` uses another one.
    /// A rebound name is refused with any port.
    private static func isOwn(_ host: String) -> Bool {
        let match = host.wholeMatch(of: /(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?/)
        return match != nil
    }

    private static func isExtension(_ origin: String) -> Bool {
        ["chrome-extension://", "moz-extension://", "safari-web-extension://"].contains { origin.hasPrefix($0) }
    }
}
