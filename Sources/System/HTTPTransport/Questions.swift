import NightshiftAPI
import NightshiftCurl
import Transfers

/// The kinds of challenges that one exchange reports as challenges instead of as failures.
struct Questions {
    let methods: Set<Challenge.Method>
    /// The certificates that are trusted for the current origin.
    var trustedCertificates: Set<String>

    /// Returns the hook for the handshakes of this request; nil if no challenge is wanted and no certificate is
    /// trusted.
    func trust(for request: CurlRequest) -> OriginTrust? {
        let asksForCertificate = methods.contains(.clientCertificate) && request.clientCertificate == nil
        guard methods.contains(.serverTrust) || asksForCertificate || !trustedCertificates.isEmpty,
            let url = try? TransferURL(parsing: request.url), url.isSecure
        else { return nil }
        return OriginTrust(
            host: Self.host(url), trustedCertificates: trustedCertificates,
            stopsAtUntrusted: methods.contains(.serverTrust), stopsAtCertificateRequest: asksForCertificate)
    }

    /// Returns the challenge in a final response, together with that response. The status is 401, or 407 if the proxy
    /// handled the request itself, as for an `http` URL.
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

    /// Returns the challenge that explains a failed exchange; nil if no challenge explains it.
    ///
    /// - Parameter proxy: The proxy that the request itself names.
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

    /// Returns the strongest method that is wanted and that libcurl supports. Digest is stronger than Basic.
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

    /// Returns a challenge of the proxy that the request names. Returns nil for a proxy from the service's environment
    /// variables, because an answer could not be applied to that proxy.
    private static func challenge(_ method: Challenge.Method, proxy: String?, _ realm: String?) -> Challenge? {
        guard let proxy, var challenge = Challenge(method: method, ofProxy: proxy) else { return nil }
        challenge.realm = realm
        return challenge
    }

    /// Returns the host in the form of URLProtectionSpace: an IPv6 address has no brackets.
    private static func host(_ url: TransferURL) -> String {
        url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    }
}

extension AuthenticationOffer {
    fileprivate var isBasic: Bool { scheme == "basic" && token == nil }

    /// Whether libcurl can answer this Digest challenge. This requires a nonce and an algorithm that libcurl supports.
    fileprivate var isDigest: Bool {
        let algorithm = parameters["algorithm"]?.lowercased() ?? "md5"
        return scheme == "digest" && parameters["nonce"] != nil
            && ["md5", "md5-sess", "sha-256", "sha-256-sess"].contains(algorithm)
    }
}
