import NightshiftAPI
import NightshiftCurl
import Transfers

/// What one exchange asks about instead of failing, and the questions themselves.
struct Questions {
    let methods: Set<Challenge.Method>
    /// Of the origin that requests go to now.
    var trustedCertificates: Set<String>

    /// What is to look at the handshakes of this request; nil where nobody would ask.
    func trust(for request: CurlRequest) -> OriginTrust? {
        let asksForCertificate = methods.contains(.clientCertificate) && request.clientCertificate == nil
        guard methods.contains(.serverTrust) || asksForCertificate || !trustedCertificates.isEmpty,
            let url = try? TransferURL(parsing: request.url), url.isSecure
        else { return nil }
        return OriginTrust(
            host: Self.host(url), trustedCertificates: trustedCertificates,
            stopsAtUntrusted: methods.contains(.serverTrust), stopsAtCertificateRequest: asksForCertificate)
    }

    /// The question in a final response, and the response: 401, or 407 from a proxy that sees the request itself.
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

    /// The question behind an exchange that failed.
    ///
    /// - Parameter proxy: the one that the request itself names.
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

    /// Digest before Basic, of what is asked about and libcurl can answer.
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

    /// Nobody is asked about a proxy of the service's own variables: an answer would not find its way to it.
    private static func challenge(_ method: Challenge.Method, proxy: String?, _ realm: String?) -> Challenge? {
        guard let proxy, var challenge = Challenge(method: method, ofProxy: proxy) else { return nil }
        challenge.realm = realm
        return challenge
    }

    /// As URLProtectionSpace has it: an IPv6 address without brackets.
    private static func host(_ url: TransferURL) -> String {
        url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    }
}

extension AuthenticationOffer {
    fileprivate var isBasic: Bool { scheme == "basic" && token == nil }

    /// Without a nonce there is nothing to answer, and libcurl knows no more than these algorithms.
    fileprivate var isDigest: Bool {
        let algorithm = parameters["algorithm"]?.lowercased() ?? "md5"
        return scheme == "digest" && parameters["nonce"] != nil
            && ["md5", "md5-sess", "sha-256", "sha-256-sess"].contains(algorithm)
    }
}
