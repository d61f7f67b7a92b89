package import NightshiftAPI

extension Challenge {
    /// The scheme, host and port, in the form of a task's origin. A proxy's origin has another form than a server's.
    package var origin: String {
        let address = "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host):\(port)"
        return isProxy ? "proxy \(address)" : address
    }

    /// Returns the origin of challenges from the proxy at a URL. Returns nil if the proxy sends no challenges.
    package static func origin(ofProxy url: String) -> String? {
        Challenge(method: .basic, ofProxy: url)?.origin
    }

    /// Whether the challenge requests a user name and a password.
    package var asksForCredential: Bool { method == .basic || method == .digest }

    /// A sentence that describes the challenge to people.
    package var sentence: String {
        switch method {
        case .basic, .digest: "\(host) asks for a name and password\(realm.map { " for '\($0)'" } ?? "")."
        case .clientCertificate: "\(host) asks for a client certificate."
        case .serverTrust: "\(host) presented a certificate that the system does not trust. \(reason ?? "")"
        }
    }
}
