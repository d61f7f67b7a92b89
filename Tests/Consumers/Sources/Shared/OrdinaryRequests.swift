import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Requests as apps make them: requests that no service may refuse, and requests that it refuses.

private func session(_ name: String, _ listener: Listener) -> URLSession {
    let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier(name))
    return URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
}

/// Downloads a request that `change` has changed.
private func download(
    _ name: String, _ path: String, _ change: (inout URLRequest) -> Void
) async throws -> (status: Int, text: String) {
    let listener = Listener()
    let session = session(name, listener)
    var request = URLRequest(url: Origin.url(path))
    change(&request)
    session.downloadTask(with: request).resume()
    let text = try await listener.text.value()
    session.finishTasksAndInvalidate()
    return (try await listener.status.value(), text)
}

func ordinaryRequests() async {
    await situation("header fields that belong to the connection") {
        let (status, text) = try await download("connection-fields", "/fields") { request in
            for (name, value) in [
                ("Content-Length", "7"), ("Connection", "close"), ("Host", "elsewhere.example"),
                ("Expect", "100-continue"), ("Accept-Encoding", "gzip"), ("X-Mine", "yes"),
            ] {
                request.setValue(value, forHTTPHeaderField: name)
            }
        }
        let fields = text.lowercased()
        try expectEqual(status, 200)
        try expect(fields.contains("host: 127.0.0.1:") && fields.contains("x-mine: yes"), fields)
        try expect(!fields.contains("content-length: 7") && !fields.contains("expect:"), fields)
    }
    await situation("a range of the app's own") {
        let (status, text) = try await download("own-range", "/file/own-range") {
            $0.setValue("bytes=10-19", forHTTPHeaderField: "Range")
        }
        try expectEqual(status, 206)
        try expectEqual(text, String(Origin.text(of: "own-range").dropFirst(10).prefix(10)))
    }
    await situation("a condition of the app's own") {
        let (status, _) = try await download("own-condition", "/file/own-condition") {
            $0.setValue("\"own-condition\"", forHTTPHeaderField: "If-None-Match")
        }
        try expectEqual(status, 304)
    }
    await situation("a download with HEAD") {
        let (status, text) = try await download("head", "/file/head") { $0.httpMethod = "HEAD" }
        try expectEqual(status, 200)
        try expectEqual(text, "")
    }
    await situation("a download with a body, by POST and by DELETE") {
        for method in ["POST", "DELETE"] {
            let (status, text) = try await download("body-\(method)", "/search") { request in
                request.httpMethod = method
                request.httpBody = Data("{\"a\":1}".utf8)
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            }
            try expectEqual(status, 201)
            try expectEqual(text, "\(method) 7 {\"a\":1}")
        }
    }
    await situation("100,000 connections to a host") {
        let listener = Listener()
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("connections"))
        configuration.httpMaximumConnectionsPerHost = 100_000
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("the code of a refusal says why") {
        let listener = Listener()
        let first = session("refused-url", listener)
        first.downloadTask(with: Origin.file(String(repeating: "a", count: 100_000))).resume()
        let error = try await listener.error.value()
        try expectEqual(error.domain, NSURLErrorDomain)
        try expectEqual(error.code, NSURLErrorBadURL)
        first.finishTasksAndInvalidate()
        let other = Listener()
        let second = session("refused-data", other)
        second.downloadTask(withResumeData: Data("not resume data".utf8)).resume()
        try expectEqual(try await other.error.value().code, NSURLErrorUnsupportedURL)
        second.finishTasksAndInvalidate()
    }
    await situation("limits of TLS versions have no effect on http") {
        let listener = Listener()
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("tls-bounds"))
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
}
