import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of servers and proxies that require a name and a password (T9).
@Suite(.timeLimit(.minutes(20))) struct ChallengeTests {
    private let right = Credential(user: "me", password: "right")

    private static func asking(
        _ url: String, _ methods: Set<Challenge.Method> = Set(Challenge.Method.allCases), credential: Credential? = nil
    ) -> WireRequest {
        .direct(url).with {
            $0.asksAbout = methods
            $0.credential = credential
        }
    }

    private static func unauthorized(_ offers: [String]) -> Behaviour {
        .status(401, fields: offers.map { HTTPField("WWW-Authenticate", $0) }, body: "who are you?\n")
    }

    // MARK: - 401

    private static let offers: [([String], Challenge.Method?, String?)] = [
        (["Basic realm=\"plain\""], .basic, "plain"),
        (["Digest realm=\"d\", nonce=\"n\", qop=\"auth\""], .digest, "d"),
        (["Basic realm=\"b\"", "Digest realm=\"d\", nonce=\"n\", algorithm=SHA-256"], .digest, "d"),
        (["Basic realm=\"b, Digest realm=no\", Digest realm=\"d\", nonce=\"n\""], .digest, "d"),
        (["Negotiate, Bearer realm=\"x\", Basic realm=\"say \\\"me\\\"\""], .basic, "say \"me\""),
        (["bAsIc"], .basic, nil),
        (["Digest realm=\"unknown\", nonce=\"n\", algorithm=ROT13, Basic realm=\"b\""], .basic, "b"),
        (["Digest realm=\"without nonce\""], nil, nil),
        (["Basic realm=\"without end"], nil, nil),
        (["Bearer realm=\"x\""], nil, nil),
        ([], nil, nil),
    ]

    @Test(arguments: offers)
    func `T9: A 401 response causes a challenge with the strongest offered method`(
        offers: [String], method: Challenge.Method?, realm: String?
    ) async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("", Self.unauthorized(offers)))
        let receiver = Receiver()
        let end = try await TestTransport().end(Self.asking(origin.url("/a")), receiver)
        #expect(end.head?.status == 401)
        guard let method else {
            #expect(end.outcome == .complete)
            #expect(receiver.heads.count == 1)
            return
        }
        var challenge = Challenge(method: method, host: "127.0.0.1", port: Int(origin.port), scheme: "http")
        challenge.realm = realm
        challenge.response = end.head.map { ResponseSummary($0) }
        #expect(end.outcome == .challenged(challenge))
        #expect(challenge.response?.status == 401)
        #expect(receiver.heads == [])
        #expect(end.body == [])
        #expect(receiver.ends.count == 1)
    }

    @Test func `T9: The transport reports only challenges with the requested methods`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("", Self.unauthorized(["Basic realm=\"b\", Digest realm=\"d\", nonce=\"n\""])))
        let transport = TestTransport()
        let basic = try await transport.end(Self.asking(origin.url("/a"), [.basic, .serverTrust]))
        #expect(basic.challenge?.method == .basic)
        #expect(basic.challenge?.realm == "b")
        for methods in [[], [.clientCertificate, .serverTrust]] as [Set<Challenge.Method>] {
            let receiver = Receiver()
            let none = try await transport.end(Self.asking(origin.url("/a"), methods), receiver)
            #expect(none.outcome == .complete)
            #expect(none.body == Array("who are you?\n".utf8))
            #expect(receiver.heads.map(\.status) == [401])
        }
    }

    @Test(arguments: [Challenge.Method.basic, .digest])
    func `T9: A correct credential is accepted, and a wrong credential causes a new challenge`(method: Challenge.Method)
        async throws
    {
        let origin = try OriginServer()
        let behaviour: Behaviour =
            method == .basic
            ? .requireBasic(user: "me", password: "right") : .requireDigest(user: "me", password: "right")
        origin.serve("/a", .text("hello", behaviour))
        let transport = TestTransport()
        let schemes: [Credential.Scheme] = [.any, method == .basic ? .basic : .digest]
        for scheme in schemes {
            for password in ["wrong", "right"] {
                let credential = Credential(user: "me", password: password, scheme: scheme)
                let end = try await transport.end(Self.asking(origin.url("/a"), credential: credential))
                if password == "right" {
                    #expect(end.outcome == .complete)
                    #expect(end.body == Array("hello".utf8))
                } else {
                    #expect(end.challenge?.method == method)
                    #expect(end.challenge?.realm == "origin")
                }
            }
        }
    }

    @Test func `T9: The request with the credential reuses the connection of the challenge`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("hello", .requireBasic(user: "me", password: "right")))
        let transport = TestTransport()
        #expect(try await transport.end(Self.asking(origin.url("/a"))).challenge != nil)
        let credential = Credential(user: "me", password: "right", scheme: .basic)
        let end = try await transport.end(Self.asking(origin.url("/a"), credential: credential))
        #expect(end.outcome == .complete)
        #expect(origin.connectionCount == 1)
    }

    @Test(arguments: [Behaviour.cutAfter(1000), .resetAfter(1000), .stallAfter(1000), .chunked(lastChunk: false)])
    func `T9: The transport reports a challenge, however the body of the response ends`(behaviour: Behaviour)
        async throws
    {
        let origin = try OriginServer()
        let body = String(repeating: "x", count: 4 << 20)
        let question = Behaviour.status(401, fields: [HTTPField("WWW-Authenticate", "Basic realm=\"b\"")], body: body)
        origin.serve("/a", .text("", behaviour, question))
        let end = try await TestTransport().end(Self.asking(origin.url("/a")).with { $0.idleTimeout = 1 })
        #expect(end.challenge?.realm == "b", "\(end)")
    }

    @Test(arguments: [1_000, 20_000_000] as [Int64])
    func `T9: A large upload sends no body before a challenge`(size: Int64) async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks", Self.unauthorized(["Basic realm=\"b\""])))
        let file = try TestFile(SeededContent(seed: 3, size: size))
        defer { withExtendedLifetime(file) {} }
        let request = WireRequest.direct(origin.url("/up"), method: "PUT").with { $0.asksAbout = [.basic] }
            .sending(file, size: size)
        let end = try await TestTransport().end(request)
        #expect(end.challenge?.method == .basic, "\(end)")
        #expect(origin.requests.count == 1)
        if size > 1 << 20 {
            #expect(request.body?.meter.value == 0)
            #expect(origin.requests.first?.field("Expect") == "100-continue")
        }
    }

    @Test func `T9: Another origin does not get the credential after a redirect, and causes a challenge`() async throws
    {
        let first = try OriginServer()
        let second = try OriginServer(host: .ipv6)
        first.serve("/a", .text("", .redirect(to: second.url("/b"))))
        second.serve("/b", .text("", .requireBasic(user: "me", password: "right")))
        let end = try await TestTransport().end(Self.asking(first.url("/a"), credential: right))
        #expect(end.challenge?.host == "::1")
        #expect(end.challenge?.port == Int(second.port))
        #expect(second.requests.count == 1)
        #expect(second.requests.first?.field("Authorization") == nil)
    }

    // MARK: - 407

    private static func proxyQuestion(_ offers: String) -> Resource {
        .text("", .status(407, fields: [HTTPField("Proxy-Authenticate", offers)], body: "who?"))
    }

    @Test func `T9: A challenge of a proxy names the proxy`() async throws {
        let proxy = try OriginServer()
        proxy.serve("http://origin.invalid/a", Self.proxyQuestion("Basic realm=\"way out\", Negotiate"))
        let request = Self.asking("http://origin.invalid/a").with { $0.proxy = proxy.url("") }
        let challenge = try #require(try await TestTransport().end(request).challenge)
        #expect(challenge.isProxy)
        #expect(challenge.method == .basic)
        #expect(challenge.realm == "way out")
        #expect(challenge.host == "127.0.0.1")
        #expect(challenge.port == Int(proxy.port))
        #expect(challenge.scheme == "http")
    }

    @Test(arguments: [
        ("Basic realm=\"b\"", Challenge.Method.basic), ("Basic realm=\"b\", Digest realm=\"d\", nonce=\"n\"", .digest),
    ])
    func `T9: A proxy can demand a credential before it makes a tunnel`(offers: String, method: Challenge.Method)
        async throws
    {
        let proxy = try OriginServer()
        proxy.serve("origin.invalid:443", Self.proxyQuestion(offers))
        let request = Self.asking("https://origin.invalid/a").with { $0.proxy = proxy.url("") }
        let challenge = try #require(try await TestTransport().end(request).challenge)
        #expect(challenge.isProxy)
        #expect(challenge.method == method)
        #expect(challenge.port == Int(proxy.port))
        let unasked = try await TestTransport().end(request.with { $0.asksAbout = [] })
        #expect(unasked.failure?.code == .proxyFailure)
    }

    @Test(arguments: [Set(Challenge.Method.allCases), [.basic]])
    func `T9: A proxy gets the user name and password that its address contains`(methods: Set<Challenge.Method>)
        async throws
    {
        let proxy = try OriginServer()
        proxy.serve("http://origin.invalid/a", Self.proxyQuestion("Basic realm=\"b\""))
        let request = Self.asking("http://origin.invalid/a", methods).with {
            $0.proxy = "http://me:right@127.0.0.1:\(proxy.port)"
        }
        let end = try await TestTransport().end(request)
        #expect(end.challenge?.isProxy == true)
        #expect(proxy.requests.last?.field("Proxy-Authorization") == "Basic bWU6cmlnaHQ=")
    }

    @Test func `T9: An origin that pretends to be a proxy causes no challenge`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", Self.proxyQuestion("Basic realm=\"b\""))
        let end = try await TestTransport().end(Self.asking(origin.url("/a")))
        #expect(end.outcome == .complete)
        #expect(end.head?.status == 407)
    }
}

extension ExchangeEnd {
    var challenge: Challenge? {
        if case .challenged(let challenge) = outcome { challenge } else { nil }
    }
}
