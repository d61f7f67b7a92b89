import Testing

@testable import CLI

struct ProxyVariablesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var environment: [String: String]
        var url: String
        var proxy: String?

        init(_ environment: [String: String], _ url: String, _ proxy: String?) {
            self.environment = environment
            self.url = url
            self.proxy = proxy
        }

        var testDescription: String { "\(environment) \(url)" }
    }

    static let p = "http://p:3128"

    @Test(arguments: [
        Case([:], "http://a/", nil),
        Case(["no_proxy": "*"], "http://a/", nil),
        Case(["http_proxy": p], "http://a/", p),
        Case(["http_proxy": p], "https://a/", nil),
        // Only in lower case: a web server makes HTTP_PROXY of a request's Proxy field.
        Case(["HTTP_PROXY": p], "http://a/", nil),
        Case(["HTTPS_PROXY": p], "https://a/", p),
        Case(["https_proxy": p, "HTTPS_PROXY": "http://q"], "https://a/", p),
        Case(["https_proxy": ""], "https://a/", nil),
        Case(["all_proxy": "socks5h://s:1080"], "https://a/", "socks5h://s:1080"),
        Case(["ALL_PROXY": p, "https_proxy": "http://q"], "https://a/", "http://q"),
        Case(["https_proxy": "p:3128"], "https://a/", p),
        Case(["https_proxy": p, "no_proxy": "*"], "https://a/", ""),
        Case(["https_proxy": p, "no_proxy": "a.example"], "https://a.example/", ""),
        Case(["https_proxy": p, "no_proxy": ".a.example"], "https://a.example/", ""),
        Case(["https_proxy": p, "no_proxy": "x, A.EXAMPLE"], "https://b.A.example./", ""),
        Case(["https_proxy": p, "NO_PROXY": "a.example b"], "https://b:99/", ""),
        Case(["https_proxy": p, "no_proxy": "a.example"], "https://ba.example/", p),
        Case(["https_proxy": p, "no_proxy": "example"], "https://a.example.org/", p),
        Case(["https_proxy": p, "no_proxy": "127.0.0.1"], "https://127.0.0.1/", ""),
        Case(["https_proxy": p, "no_proxy": "10.0.0.0/8"], "https://10.2.3.4/", ""),
        Case(["https_proxy": p, "no_proxy": "10.0.0.0/9"], "https://10.128.3.4/", p),
        Case(["https_proxy": p, "no_proxy": "10.0.0.0/33"], "https://10.0.0.0/", p),
        Case(["https_proxy": p, "no_proxy": "0.1"], "https://127.0.0.1/", p),
        Case(["https_proxy": p, "no_proxy": "::1"], "https://[::1]/", ""),
        Case(["https_proxy": p, "no_proxy": "fe80::/10"], "https://[fe90::1]/", ""),
        Case(["https_proxy": p, "no_proxy": "1.2.3.4"], "https://[::1]/", p),
    ])
    func rules(_ example: Case) {
        #expect(ProxyVariables(example.environment).proxy(for: example.url) == example.proxy)
    }
}
