extension Challenge {
    /// The question of the proxy at a URL, realm and response left open; nil for a proxy that asks nothing, as those of SOCKS.
    package init?(method: Method, ofProxy proxy: String) {
        guard let url = try? TransferURL(parsing: proxy) else { return nil }
        // libcurl's own default for http proxies; TransferURL says 80 there.
        let authority = proxy.split(separator: "@").last ?? ""
        let isDefault = !url.isSecure && url.port == 80 && !authority.contains(":80")
        // As URLProtectionSpace has it: an IPv6 address without brackets.
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        self.init(
            method: method, host: host, port: isDefault ? 1080 : url.port, scheme: url.isSecure ? "https" : "http")
        isProxy = true
    }
}
