import Foundation

/// The proxy variables of one environment, interpreted by curl's rules.
///
/// See https://curl.se/docs/manpage.html#ENVIRONMENT. `http_proxy` is valid only in lower case, because a web server
/// passes the `Proxy` field of a request to its programs as `HTTP_PROXY`. The variables apply only to requests of the
/// process in whose environment they are.
package struct ProxyVariables: Hashable, Sendable {
    /// The variables that are set and valid, in the order of ``names``.
    package let names: [String]
    private let http: Setting?
    private let https: Setting?
    private let all: Setting?
    private let exceptions: [String]

    private struct Setting: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// A proxy and the variable that names it.
    package struct Choice: Hashable, Sendable {
        /// The variable that names the proxy.
        package var variable: String
        /// The URL of the proxy; empty if `no_proxy` excludes the host.
        package var proxy: String
    }

    package init(_ environment: [String: String]) {
        func setting(_ names: String...) -> Setting? {
            names.lazy.compactMap { name in environment[name].map { Setting(name: name, value: $0) } }
                .first { !$0.value.isEmpty }
        }
        let exceptions = setting("no_proxy", "NO_PROXY")
        http = setting("http_proxy")
        https = setting("https_proxy", "HTTPS_PROXY")
        all = setting("all_proxy", "ALL_PROXY")
        names = [http, https, all, exceptions].compactMap { $0?.name }
        self.exceptions = (exceptions?.value ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
            .map { $0.lowercased() }
    }

    /// The variables of an environment that sets no proxy variables.
    package static let none = ProxyVariables([:])

    package var hasProxy: Bool { http != nil || https != nil || all != nil }

    /// Returns the proxy for `url`. The result is empty if a proxy is set but not used for this host. It is nil if no
    /// proxy is set, or if `url` is not a URL.
    package func proxy(for url: String) -> String? { choice(for: url)?.proxy }

    /// Returns the proxy as ``proxy(for:)`` does, together with the variable that names it.
    package func choice(for url: String) -> Choice? {
        guard hasProxy, let url = try? TransferURL(parsing: url), let setting = (url.isSecure ? https : http) ?? all
        else { return nil }
        let isException = isException(url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host)
        return Choice(variable: setting.name, proxy: isException ? "" : ProxyAddress.spelled(setting.value))
    }

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

/// An IPv4 or IPv6 address as bytes.
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

    /// Returns whether `pattern`, an address or `address/bits`, contains `address`.
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
