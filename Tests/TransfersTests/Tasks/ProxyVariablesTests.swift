import NightshiftAPI
import Testing

@Suite struct ProxyVariablesTests {
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
        // The variable counts only in lower case, because a web server sets HTTP_PROXY from a request's Proxy field.
        Case(["HTTP_PROXY": p], "http://a/", nil),
        Case(["HTTPS_PROXY": p], "https://a/", p),
        Case(["https_proxy": p, "HTTPS_PROXY": "http://q"], "https://a/", p),
        Case(["https_proxy": ""], "https://a/", nil),
        Case(["all_proxy": "socks5h://s:1080"], "https://a/", "socks5h://s:1080"),
        Case(["ALL_PROXY": p, "https_proxy": "http://q"], "https://a/", "http://q"),
        Case(["https_proxy": "p:3128"], "https://a/", p),
        // This is GNOME's form: any version of SOCKS, with names that the proxy resolves.
        Case(["all_proxy": "socks://s:1080/"], "https://a/", "socks5h://s:1080/"),
        Case(["all_proxy": "SOCKS://u:p@s:1080"], "http://a/", "socks5h://u:p@s:1080"),
        Case(["all_proxy": "socks4://s:1080"], "https://a/", "socks4://s:1080"),
        Case(["https_proxy": "u:a://b@p:3128"], "https://a/", "http://u:a://b@p:3128"),
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

    @Test func `T8: The error about a proxy from the environment names the variable`() {
        let variables = ProxyVariables([
            "HTTPS_PROXY": Self.p, "all_proxy": "socks://s", "NO_PROXY": "a", "http_proxy": "",
        ])
        #expect(variables.names == ["HTTPS_PROXY", "all_proxy", "NO_PROXY"])
        #expect(variables.choice(for: "https://b/")?.variable == "HTTPS_PROXY")
        #expect(variables.choice(for: "http://b/")?.variable == "all_proxy")
        #expect(variables.choice(for: "no URL") == nil)
        #expect(!ProxyVariables(["no_proxy": "a"]).hasProxy)
    }

    @Test(arguments: [
        ("", true), ("http://p", true), ("SOCKS5h://u:p@p:1", true), ("socks://p", false), ("ftp://p", false),
        ("p:3128", false), ("http://p q", false), ("u:http://p", false),
    ])
    func `T8: The service detects an unusable proxy before any task waits for that proxy`(url: String, isGood: Bool) {
        #expect((ProxyAddress.flaw(of: url) == nil) == isGood)
    }
}
