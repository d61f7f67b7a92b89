#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The caller's proxy variables, read by curl's rules.
///
/// https://curl.se/docs/manpage.html#ENVIRONMENT: `http_proxy` counts in lower case only, because a web server hands
/// a request's `Proxy` field to its programs as `HTTP_PROXY`.
struct ProxyVariables: Sendable {
    private let http: String?
    private let https: String?
    private let all: String?
    private let exceptions: [String]

    init(_ environment: [String: String]) {
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        http = value("http_proxy")
        https = value("https_proxy", "HTTPS_PROXY")
        all = value("all_proxy", "ALL_PROXY")
        exceptions = (value("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
            .map { $0.lowercased() }
    }

    /// The proxy for `url`; empty where one is set but not for this host; nil where none is set.
    func proxy(for url: String) -> String? {
        guard let proxy = (URLArgument.isSecure(url) ? https : http) ?? all else { return nil }
        if isException(URLArgument.host(of: url)) { return "" }
        return proxy.contains("://") ? proxy : "http://" + proxy
    }

    var areSet: Bool { http != nil || https != nil || all != nil }

    private func isException(_ host: String) -> Bool {
        if exceptions == ["*"] { return true }
        if let address = Address(host) {
            return exceptions.contains { Address.matches($0, address) }
        }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return exceptions.contains { exception in
            var domain = exception[...]
            if domain.hasSuffix(".") { domain = domain.dropLast() }
            if domain.hasPrefix(".") { domain = domain.dropFirst() }
            return !domain.isEmpty && (name == domain || name.hasSuffix("." + domain))
        }
    }
}

/// An IPv4 or IPv6 address as bytes, and whether a network holds it.
private struct Address: Hashable {
    var bytes: [UInt8]

    init?(_ text: some StringProtocol) {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var buffer = [UInt8](repeating: 0, count: count)
            if inet_pton(family, String(text), &buffer) == 1 {
                bytes = buffer
                return
            }
        }
        return nil
    }

    /// Whether `pattern`, an address or `address/bits`, holds `address`.
    static func matches(_ pattern: String, _ address: Address) -> Bool {
        let parts = pattern.split(separator: "/", omittingEmptySubsequences: false)
        let text = parts[0].hasPrefix("[") ? parts[0].dropFirst().prefix { $0 != "]" } : parts[0]
        guard let network = Address(text), network.bytes.count == address.bytes.count else { return false }
        guard parts.count == 2 else { return parts.count == 1 && network == address }
        guard let bits = Int(parts[1]), (0...network.bytes.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return network.bytes[bit / 8] & mask == address.bytes[bit / 8] & mask
        }
    }
}
