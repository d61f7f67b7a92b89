package import NightshiftAPI

extension Challenge {
    /// Scheme, host and port, as tasks name their origin. Those of a proxy are told from an origin's.
    package var origin: String {
        let address = "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
        return isProxy ? "proxy \(address)" : address
    }

    /// The origin of what the proxy at a URL asks; nil where it asks nothing.
    package static func origin(ofProxy url: String) -> String? {
        Challenge(method: .basic, ofProxy: url)?.origin
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
