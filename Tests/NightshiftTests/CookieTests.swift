import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests of `httpCookieStorage`, `httpShouldSetCookies` and the accept policy (spec section 2.1).
@Suite struct CookieTests {
    private func stored(
        _ policy: HTTPCookie.AcceptPolicy, _ prepare: (inout URLRequest) -> Void = { _ in }
    ) async throws -> [String] {
        let world = try World()
        let delegate = Recorder()
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let session = world.process().session(delegate) { configuration in
            configuration.httpCookieStorage = storage
            configuration.httpCookieAcceptPolicy = policy
        }
        var request = URLRequest(url: url())
        prepare(&request)
        session.downloadTask(with: request).resume()
        world.service.change(1) { task in
            task.cookies = [
                SetCookie(url: "http://login.example.net/in", value: "far=1; Path=/"),
                SetCookie(
                    url: "http://example.org/file", value: "sid=2; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/"),
            ]
        }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        return (storage.cookies ?? []).map { "\($0.domain) \($0.name)=\($0.value)" }.sorted()
    }

    @Test func `T1: The library stores cookies of responses and redirects before it calls the delegate`()
        async throws
    {
        #expect(try await stored(.always) == ["example.org sid=2", "login.example.net far=1"])
    }

    @Test func `T1: The accept policy and the request decide which cookies are stored`() async throws {
        #expect(try await stored(.never) == [])
        #expect(try await stored(.onlyFromMainDocumentDomain) == ["example.org sid=2"])
        #expect(try await stored(.always) { $0.httpShouldHandleCookies = false } == [])
    }

    @Test(arguments: [(true, true, true), (false, true, false), (true, false, false)])
    func `T1: The library sends cookies after redirects if the session and the request handle them`(
        session: Bool, request: Bool, expected: Bool
    ) async throws {
        let world = try World()
        let new = world.process().session(Recorder()) { $0.httpShouldSetCookies = session }
        var wanted = URLRequest(url: url())
        wanted.httpShouldHandleCookies = request
        new.downloadTask(with: wanted).resume()
        #expect(world.service.state.read { $0.requests[1]?.request.handlesCookies } == (expected ? true : nil))
    }

    @Test(arguments: [true, false])
    func `T1: A session that accepts no cookies does not send cookies after redirects`(hasStorage: Bool) async throws {
        let world = try World()
        let session = world.process().session(Recorder()) { configuration in
            if hasStorage {
                configuration.httpCookieAcceptPolicy = .never
            } else {
                configuration.httpCookieStorage = nil
            }
        }
        session.downloadTask(with: url()).resume()
        let request = try #require(world.service.state.read { $0.requests[1]?.request })
        #expect(request.handlesCookies == nil)
    }

    @Test func `T1: The library stores a cookie at which Foundation's parser traps, and continues the task`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let delegate = Recorder()
            let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
            let session = world.process().session(delegate) { $0.httpCookieStorage = storage }
            session.downloadTask(with: url()).resume()
            world.service.change(1) { task in
                task.cookies = ["\u{1F600}=", "sid=2; \u{1F600}=; HttpOnly"].map {
                    SetCookie(url: "http://example.org/file", value: $0)
                }
            }
            try world.service.end(1)
            try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
            #expect((storage.cookies ?? []).map(\.name).sorted() == ["sid", "\u{1F600}"])
        }
    }

    @Test func `T1: A cookie at which Foundation's parser traps does not end a data task`() async throws {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let origin = try OriginServer()
            origin.serve("/hello", .text("hello", .field("Set-Cookie", "sid=2; \u{1F600}=")))
            let delegate = Recorder()
            let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
            let session = world.process().session(delegate) { $0.httpCookieStorage = storage }
            session.dataTask(with: url(origin.url("/hello"))).resume()
            try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
            #expect((storage.cookies ?? []).map(\.name) == ["sid"])
        }
    }

    @Test func `T1: The library stores the attributes of a cookie`() async throws {
        let world = try World()
        let delegate = Recorder()
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let session = world.process().session(delegate) { $0.httpCookieStorage = storage }
        session.downloadTask(with: url("https://www.example.org/dir/file")).resume()
        let fields = [
            "a=1; Secure; HttpOnly; Domain=example.org; Max-Age=60", "b=2; Path=/x", "c=3; Max-Age=0",
            "d=4; Domain=other.org",
        ]
        world.service.change(1) { task in
            task.cookies = fields.map { SetCookie(url: "https://www.example.org/dir/file", value: $0) }
        }
        try world.service.end(1)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        let stored = (storage.cookies ?? []).sorted { $0.name < $1.name }
        #expect(stored.map(\.name) == ["a", "b"])
        let first = try #require(stored.first)
        let second = try #require(stored.last)
        #expect(first.domain == ".example.org" && first.path == "/dir" && first.isSecure && first.expiresDate != nil)
        #expect(second.domain == "www.example.org" && second.path == "/x" && !second.isSecure)
        #expect(second.expiresDate == nil)
    }

    @Test func `T1: Data tasks store and send cookies, also after redirects`() async throws {
        let world = try World()
        let origin = try OriginServer()
        let cookie = HTTPField("Set-Cookie", "sid=2; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Path=/")
        let other = HTTPField("Set-Cookie", "lang=de; Path=/")
        origin.serve(
            "/in", .text("", .status(302, fields: [HTTPField("Location", origin.url("/home")), cookie, other])))
        origin.serve("/home", .text("home"))
        let delegate = Recorder()
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let session = world.process().session(delegate) { $0.httpCookieStorage = storage }
        session.dataTask(with: url(origin.url("/in"))).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        #expect((storage.cookies ?? []).map(\.name).sorted() == ["lang", "sid"])
        session.dataTask(with: url(origin.url("/home"))).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed" }
        var own = URLRequest(url: url(origin.url("/home")))
        own.setValue("own=1", forHTTPHeaderField: "Cookie")
        session.dataTask(with: own).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "3 completed" }
        let sent = origin.requests(for: "/home").map { request in
            (request.field("cookie") ?? "").components(separatedBy: "; ").sorted()
        }
        #expect(sent == [["lang=de", "sid=2"], ["lang=de", "sid=2"], ["own=1"]])
    }

    @Test func `T1: The parser distinguishes a comma between joined fields from a comma in a date`() {
        let joined = "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT, b=2; Path=/,c=x,y, d"
        #expect(
            SetCookie.fields(joined: joined) == [
                "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "b=2; Path=/", "c=x,y, d",
            ])
        #expect(SetCookie.fields(joined: "\u{1F600}=") == ["\u{1F600}="])
    }

    /// Creates a storage with cookies of each kind: one that may be sent to `/dir/file` without TLS, and one that may
    /// not.
    private func filled(_ host: String) throws -> HTTPCookieStorage {
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let kinds: [(name: String, path: String, more: [HTTPCookiePropertyKey: Any])] = [
            ("all", "/", [:]), ("below", "/dir", [.expires: Date.now.addingTimeInterval(86_400)]),
            ("secret", "/", [.secure: "TRUE"]), ("account", "/account", [:]), ("directory", "/di", [:]),
        ]
        for kind in kinds {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: kind.name, .value: "1", .domain: host, .path: kind.path,
            ]
            storage.setCookie(
                try #require(HTTPCookie(properties: properties.merging(kind.more) { $1 })))
        }
        return storage
    }

    @Test(arguments: [
        ("http://example.org/dir/file", "below=1; all=1"), ("https://example.org/dir/file", "below=1; all=1; secret=1"),
        ("http://example.org/account", "account=1; all=1"),
    ])
    func `T1: A request sends the stored cookies that match its URL`(address: String, expected: String)
        async throws
    {
        let world = try World()
        let storage = try filled("example.org")
        let session = world.process().session(Recorder()) { $0.httpCookieStorage = storage }
        session.downloadTask(with: url(address)).resume()
        let request = try #require(world.service.state.read { $0.requests[1]?.request })
        #expect(request.headers?.first("Cookie") == expected)
    }

    @Test func `T1: The library does not send an expired cookie`() async throws {
        let world = try World()
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "short", .value: "1", .domain: "example.org", .path: "/",
            .expires: Date.now.addingTimeInterval(0.5),
        ]
        let cookie = try #require(HTTPCookie(properties: properties))
        storage.setCookie(cookie)
        let end = try #require(cookie.expiresDate)
        try await passTime(.seconds(max(0, end.timeIntervalSinceNow) + 0.1), because: "a cookie has its time")
        let session = world.process().session(Recorder()) { $0.httpCookieStorage = storage }
        session.downloadTask(with: url()).resume()
        let request = try #require(world.service.state.read { $0.requests[1]?.request })
        #expect(request.headers?.first("Cookie") == nil)
    }

    @Test func `T1: Data tasks send the matching cookies to each URL, also after redirects`() async throws {
        let world = try World()
        let (origin, other) = (try OriginServer(), try OriginServer())
        origin.serve("/dir/file", .text("", .redirect(to: other.url("/account"))))
        other.serve("/account", .text("hello"))
        let storage = try filled("127.0.0.1")
        let delegate = Recorder()
        let session = world.process().session(delegate) { $0.httpCookieStorage = storage }
        session.dataTask(with: url(origin.url("/dir/file"))).resume()
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        #expect(origin.requests(for: "/dir/file").map { $0.field("cookie") } == ["below=1; all=1"])
        #expect(other.requests(for: "/account").map { $0.field("cookie") } == ["account=1; all=1"])
    }
}
