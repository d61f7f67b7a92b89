import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Spec section 2.1: httpCookieStorage, httpShouldSetCookies and the policy.
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

    @Test func `T1: Cookies of a response and of redirects are in the app's storage before its delegate hears`()
        async throws
    {
        #expect(try await stored(.always) == ["example.org sid=2", "login.example.net far=1"])
    }

    @Test func `T1: The policy and the request say which`() async throws {
        #expect(try await stored(.never) == [])
        #expect(try await stored(.onlyFromMainDocumentDomain) == ["example.org sid=2"])
        #expect(try await stored(.always) { $0.httpShouldHandleCookies = false } == [])
    }

    @Test(arguments: [(true, true, true), (false, true, false), (true, false, false)])
    func `T1: Cookies go along redirects where the session and the request handle them`(
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
    func `T1: Cookies that a session does not accept do not go along redirects either`(hasStorage: Bool) async throws {
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
}
