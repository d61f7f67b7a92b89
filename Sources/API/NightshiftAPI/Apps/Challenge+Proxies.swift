extension Challenge {
    /// Creates the authentication challenge of the proxy with a URL, without realm and response. Returns nil for a
    /// proxy that has no challenges, such as a SOCKS proxy.
    package init?(method: Method, ofProxy proxy: String) {
        guard let url = try? TransferURL(parsing: proxy) else { return nil }
        // This is the default port of libcurl for http proxies. TransferURL would use 80.
        let authority = proxy.split(separator: "@").last ?? ""
        let isDefault = !url.isSecure && url.port == 80 && !authority.contains(":80")
        // The host must have the form of URLProtectionSpace: an IPv6 address has no brackets.
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        self.init(
            method: method, host: host, port: isDefault ? 1080 : url.port, scheme: url.isSecure ? "https" : "http")
        isProxy = true
    }
}
