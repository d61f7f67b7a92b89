import NightshiftAPI
import Testing

/// Tests of the form in which URLs are shown.
@Suite struct RedactionTests {
    @Test(arguments: [
        "X-Amz-Signature=abc", "a=1&X-Amz-Credential=AKIA", "X-Goog-Signature=ff", "sv=2024&sig=a%3D", "signature=4711",
        "token=1", "access_token=1", "ACCESS%5FTOKEN=1", "Policy=eyJ", "Key-Pair-Id=K2", "key=1", "hmac=00", "auth=1",
        "md5=x&expires=5", "v=3f9aa01b7c44d2e8119b0c6e5f2a7d31", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "id=8c5f0c1e-9d6b-4a57-8f0e-2b1d3c4e5f60", "a=1;sig=2", "auth_key=1", "verify=1", "x-oss-credential=a",
    ])
    func `The shown URL omits a query that contains a secret`(query: String) {
        #expect(Redaction.url("https://example.org/f?\(query)") == "https://example.org/f?…")
    }

    @Test(arguments: [
        "", "?", "?page=2", "?author=ada&sort=size", "?q=a%20b", "?version=12.4.0-rc1",
        "?file=debian-installer-netboot",
        "?date=2026-11-22", "?flag",
    ])
    func `The shown URL contains any other query`(query: String) {
        #expect(Redaction.url("https://example.org/f\(query)") == "https://example.org/f\(query)")
    }

    @Test(arguments: [
        ("id=1", "id=1"), ("", ""), ("flag", "flag"), ("a=1;b=2", "a=1&b=2"), ("id=1&ACCESS%5FTOKEN=2", "id=1"),
        ("X-Amz-Date=1&X-Amz-Expires=2&X-Amz-Signature=a&versionId=3", "versionId=3"),
        ("Expires=1&Signature=a&Key-Pair-Id=K2&response-content-type=b", "response-content-type=b"),
        ("sp=r&sv=1&se=2&spr=https&rscd=name&sig=a", "rscd=name"), ("GoogleAccessId=a&Expires=1&Signature=b", ""),
        ("md5=x&expires=5&f=a.zip", "f=a.zip"),
        // Without a signature these names are ordinary, and so is a value that only looks random.
        ("se=2&ts=3&expires=4", "se=2&ts=3&expires=4"),
        ("id=8c5f0c1e-9d6b-4a57-8f0e-2b1d3c4e5f60&sig=a", "id=8c5f0c1e-9d6b-4a57-8f0e-2b1d3c4e5f60"),
    ])
    func `The query without its signature identifies the resource`(query: String, unsigned: String) {
        #expect(Redaction.unsigned(query: query) == unsigned)
    }

    @Test(arguments: [
        ("https://ada:pw@example.org/f", "https://example.org/f"), ("https://ada@example.org", "https://example.org"),
        ("https://a:b@c@example.org/x@y?z", "https://example.org/x@y?z"), ("/f?token=1", "/f?…"), ("/f@g", "/f@g"),
        ("https://example.org/f?a=1#sig=2", "https://example.org/f?a=1"), ("nonsense", "nonsense"), ("", ""),
    ])
    func `The shown URL omits user name, password and fragment`(url: String, shown: String) {
        #expect(Redaction.url(url) == shown)
    }

    @Test func `A proxy's name and password are hidden, but their presence is visible`() {
        #expect(Redaction.proxy("http://bob:pw@proxy:3128") == "http://***@proxy:3128")
        #expect(Redaction.proxy("http://proxy:3128") == "http://proxy:3128")
        #expect(Redaction.proxy("bob:pw@proxy:3128") == "***@proxy:3128")
    }

    @Test(
        arguments: [
            ("http://proxy:3128", "http://proxy:3128", nil),
            ("http://bob:pw@proxy:3128", "http://proxy:3128", "bob:pw"),
            ("socks5h://bob@[::1]:1080", "socks5h://[::1]:1080", "bob"),
            ("http://b:p@ss@proxy", "http://proxy", "b:p@ss"),
            ("http://b:a://c@proxy/", "http://proxy/", "b:a://c"), ("b:a://c@proxy:1", "proxy:1", "b:a://c"),
            ("bob:pw@proxy:1", "proxy:1", "bob:pw"), ("proxy:1", "proxy:1", nil), ("http://@proxy", "http://proxy", ""),
            ("", "", nil),
        ] as [(String, String, String?)])
    func `A proxy's URL is split at its last @`(url: String, address: String, userinfo: String?) {
        let parts = ProxyAddress(url)
        #expect(parts.url == address)
        #expect(parts.userinfo.map(String.init) == userinfo)
    }

    @Test func `The shown header fields omit the value of an unknown field`() {
        #expect(HeaderField(name: "ETag", value: "x").shown.value == "x")
        #expect(HeaderField(name: "X-Client-Id", value: "x").shown.value == Redaction.mask)
        #expect(HeaderField(name: "location", value: "/f?token=1").shown.value == "/f?…")
    }
}
