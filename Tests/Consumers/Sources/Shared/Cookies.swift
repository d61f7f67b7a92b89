import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Cookies that servers set, and cookies of the app.

private func session(
    _ name: String, _ listener: Listener, _ change: (URLSessionConfiguration) -> Void = { _ in }
) -> URLSession {
    let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier(name))
    change(configuration)
    return URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
}

/// Returns the value of a cookie in the shared storage, which every session without its own storage uses.
private func stored(_ name: String) -> String? {
    HTTPCookieStorage.shared.cookies(for: Origin.url("/"))?.first { $0.name == name }?.value
}

func cookies() async {
    await situation("a cookie from a server is stored in the app's storage") {
        let listener = Listener()
        let session = session("cookie", listener)
        session.downloadTask(with: Origin.url("/cookie/stored/yes")).resume()
        _ = try await listener.text.value()
        try expectEqual(stored("stored"), "yes")
        session.finishTasksAndInvalidate()
    }
    await situation("a cookie from the app's storage is sent") {
        let cookie = try unwrap(
            HTTPCookie(properties: [.name: "own", .value: "app", .domain: "127.0.0.1", .path: "/"]), "cookie")
        HTTPCookieStorage.shared.setCookie(cookie)
        let listener = Listener()
        let session = session("cookie-sent", listener)
        session.downloadTask(with: Origin.url("/fields")).resume()
        let fields = try await listener.text.value()
        try expect(fields.contains("own=app"), fields)
        session.finishTasksAndInvalidate()
    }
    await situation("a cookie from a redirect is sent to the new URL and stored in the app's storage") {
        let listener = Listener()
        let session = session("cookie-hop", listener)
        session.downloadTask(with: Origin.url("/cookie-redirect/hop/yes")).resume()
        let fields = try await listener.text.value()
        try expect(fields.contains("hop=yes"), fields)
        try expectEqual(stored("hop"), "yes")
        session.finishTasksAndInvalidate()
    }
    await situation("a session that sets no cookies sends none, but stores received ones") {
        HTTPCookieStorage.shared.setCookies(
            HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": "mine=1; Path=/"], for: Origin.url("/")),
            for: Origin.url("/"), mainDocumentURL: nil)
        let listener = Listener()
        let first = session("cookie-unset", listener) { $0.httpShouldSetCookies = false }
        first.downloadTask(with: Origin.url("/cookie/kept/yes")).resume()
        let fields = try await listener.text.value().lowercased()
        try expect(!fields.contains("cookie:"), fields)
        try expectEqual(stored("kept"), "yes")
        first.finishTasksAndInvalidate()
        let redirected = Listener()
        let second = session("cookie-unset-hop", redirected) { $0.httpShouldSetCookies = false }
        second.downloadTask(with: Origin.url("/cookie-redirect/unset/yes")).resume()
        let later = try await redirected.text.value().lowercased()
        try expect(!later.contains("cookie:"), later)
        try expectEqual(stored("unset"), "yes")
        second.finishTasksAndInvalidate()
    }
    await situation("a session that accepts no cookies stores none, not even from redirects") {
        let listener = Listener()
        let first = session("cookie-never", listener) { $0.httpCookieAcceptPolicy = .never }
        first.downloadTask(with: Origin.url("/cookie/never/yes")).resume()
        _ = try await listener.text.value()
        try expectEqual(stored("never"), nil)
        first.finishTasksAndInvalidate()
        let redirected = Listener()
        let second = session("cookie-never-hop", redirected) { $0.httpCookieAcceptPolicy = .never }
        second.downloadTask(with: Origin.url("/cookie-redirect/never-hop/yes")).resume()
        let fields = try await redirected.text.value()
        try expect(!fields.contains("never-hop"), fields)
        try expectEqual(stored("never-hop"), nil)
        second.finishTasksAndInvalidate()
    }
    await situation("a request that handles no cookies itself") {
        let listener = Listener()
        let session = session("cookie-request", listener)
        var request = URLRequest(url: Origin.url("/cookie/request/yes"))
        request.httpShouldHandleCookies = false
        session.downloadTask(with: request).resume()
        let fields = try await listener.text.value().lowercased()
        try expect(!fields.contains("cookie:"), fields)
        try expectEqual(stored("request"), nil)
        session.finishTasksAndInvalidate()
    }
}
