import NightshiftAPI
import NightshiftCurl
import Transfers

/// The kinds of challenges that one exchange reports instead of failing, and the challenges themselves.
struct Questions {
    let methods: Set<Challenge.Method>
    /// The certificates that are trusted for the current origin.
    var trustedCertificates: Set<String>

    /// The hook for the handshakes of this request; nil if no challenge is wanted and no certificate is trusted.
    func trust(for request: CurlRequest) -> OriginTrust? {
        let asksForCertificate = methods.contains(.clientCertificate) && request.clientCertificate == nil
        guard methods.contains(.serverTrust) || asksForCertificate || !trustedCertificates.isEmpty,
            let url = try? TransferURL(parsing: request.url), url.isSecure
        else { return nil }
        return OriginTrust(
            host: Self.host(url), trustedCertificates: trustedCertificates,
            stopsAtUntrusted: methods.contains(.serverTrust), stopsAtCertificateRequest: asksForCertificate)
    }

    /// The challenge in a final response, with that response: 401, or 407 from a proxy that sees the request itself.
    func question(in head: ResponseHead, proxy: String?) -> Challenge? {
        var challenge = challenge(of: head, proxy: proxy)
        challenge?.response = ResponseSummary(head)
        return challenge
    }

    private func challenge(of head: ResponseHead, proxy: String?) -> Challenge? {
        guard head.status == 401 || head.status == 407 else { return nil }
        guard let url = try? TransferURL(parsing: head.url) else { return nil }
        switch head.status {
        case 401:
            let offers = AuthenticationOffer.all(in: head.headers, field: "WWW-Authenticate")
            return strongest(offers).map { Self.challenge($0.method, url.isSecure, Self.host(url), url.port, $0.realm) }
        case 407 where !url.isSecure:
            let offers = AuthenticationOffer.all(in: head.headers, field: "Proxy-Authenticate")
            return strongest(offers).flatMap { Self.challenge($0.method, proxy: proxy, $0.realm) }
        default:
            return nil
        }
    }

    /// The challenge that explains a failed exchange.
    ///
    /// - Parameter proxy: the proxy that the request itself names.
    func question(after end: CurlEnd, of request: CurlRequest, proxy: String?, _ finding: OriginTrust.Finding?)
        -> Challenge?
    {
        guard end.code != 0, !end.wasCancelled else { return nil }
        if let tunnel = end.refusedTunnel {
            if tunnel.offersDigest, methods.contains(.digest) {
                return Self.challenge(.digest, proxy: proxy, nil)
            }
            if tunnel.offersBasic, methods.contains(.basic) {
                return Self.challenge(.basic, proxy: proxy, nil)
            }
        }
        guard let finding, let url = try? TransferURL(parsing: request.url) else { return nil }
        switch finding {
        case .certificateWanted:
            return Self.challenge(.clientCertificate, url.isSecure, Self.host(url), url.port, nil)
        case .untrusted(let certificates, let reason):
            var challenge = Self.challenge(.serverTrust, url.isSecure, Self.host(url), url.port, nil)
            challenge.certificates = certificates
            challenge.reason = reason
            return challenge
        }
    }

    /// The strongest method that is wanted and that libcurl supports: Digest before Basic.
    private func strongest(_ offers: [AuthenticationOffer]) -> (method: Challenge.Method, realm: String?)? {
        if methods.contains(.digest), let offer = offers.first(where: \.isDigest) { return (.digest, offer.realm) }
        if methods.contains(.basic), let offer = offers.first(where: \.isBasic) { return (.basic, offer.realm) }
        return nil
    }

    private static func challenge(
        _ method: Challenge.Method, _ isSecure: Bool, _ host: String, _ port: Int, _ realm: String?
    ) -> Challenge {
        var challenge = Challenge(method: method, host: host, port: port, scheme: isSecure ? "https" : "http")
        challenge.realm = realm
        return challenge
    }

    /// A challenge of the request's own proxy; nil for a proxy from the service's environment variables, because an
    /// answer could not be applied to it.
    private static func challenge(_ method: Challenge.Method, proxy: String?, _ realm: String?) -> Challenge? {
        guard let proxy, var challenge = Challenge(method: method, ofProxy: proxy) else { return nil }
        challenge.realm = realm
        return challenge
    }

    /// The host as in URLProtectionSpace: an IPv6 address without brackets.
    private static func host(_ url: TransferURL) -> String {
        url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    }
}

extension AuthenticationOffer {
    fileprivate var isBasic: Bool { scheme == "basic" && token == nil }

    /// Whether this is a Digest challenge that libcurl can answer: it has a nonce, and libcurl supports its algorithm.
    fileprivate var isDigest: Bool {
        let algorithm = parameters["algorithm"]?.lowercased() ?? "md5"
        return scheme == "digest" && parameters["nonce"] != nil
            && ["md5", "md5-sess", "sha-256", "sha-256-sess"].contains(algorithm)
    }
}
