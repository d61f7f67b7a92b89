package import NightshiftAPI

extension Challenge {
    /// The name of all proxies: a request has one at most.
    package static let proxyOrigin = "proxy"

    /// Scheme, host and port, as tasks name their origin; or a proxy.
    package var origin: String {
        isProxy
            ? Self.proxyOrigin
            : "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
    }

    /// Whether a name and a password are asked for.
    package var asksForCredential: Bool { method == .basic || method == .digest }

    /// What is asked, in a person's words.
    package var sentence: String {
        switch method {
        case .basic, .digest: "\(host) asks for a name and password\(realm.map { " for '\($0)'" } ?? "")."
        case .clientCertificate: "\(host) asks for a client certificate."
        case .serverTrust: "\(host) shows a certificate that the system does not trust. \(reason ?? "")"
        }
    }
}
