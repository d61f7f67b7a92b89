import HTTPTypes
import NIOCore
import NightshiftAPI
import Testing

@testable import LocalAPI

/// Tests of the lifetime of a connection, which depends on the HTTP version and on fields of the request.
@Suite struct VersionTests {
    /// Limits with timeouts so long that no connection is closed as idle during a test.
    private static let patient = {
        var limits = ConnectionLimits()
        limits.idleTimeout = .hours(1)
        return limits
    }()

    private static func request(_ version: String, _ fields: String = "", path: String = "/hello") -> String {
        "GET \(path) HTTP/\(version)\r\nHost: localhost\r\n\(fields)\r\n"
    }

    @Test(arguments: [
        ("1.0", "", "HTTP/1.0 200 "), ("1.0", "Connection: close\r\n", "HTTP/1.0 200 "),
        ("1.0", "Connection: Keep-Alive, close\r\n", "HTTP/1.0 200 "),
        ("1.1", "Connection: close\r\n", "HTTP/1.1 200 "),
        ("1.1", "Connection: Close\r\n", "HTTP/1.1 200 "), ("1.1", "Connection: te, close\r\n", "HTTP/1.1 200 "),
    ])
    func `A connection without keep-alive ends with its response`(
        version: String, fields: String, start: String
    ) async throws {
        try await withServer(routes: [.hello], limits: Self.patient) { server in
            let client = try server.client()
            try await client.send(Self.request(version, fields))
            let text = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(text.hasPrefix(start) && text.hasSuffix("{\"ok\":true}"), "\(text)")
        }
    }

    @Test func `An HTTP 1.0 connection with keep-alive stays open`() async throws {
        try await withServer(routes: [.hello], limits: Self.patient) { server in
            let client = try server.client()
            for _ in 0..<3 {
                try await client.send(Self.request("1.0", "Connection: keep-alive\r\n"))
                let answer = try await client.answer()
                #expect(answer.status == 200 && answer.headers["connection"] == "keep-alive")
            }
            try await client.send(Self.request("1.0"))
            #expect(Answer(try await client.receiveAll())?.headers["connection"] == "close")
        }
    }

    @Test func `An HTTP 1.0 response of unknown length ends with the connection`() async throws {
        let events = Route(.get, "/events") { call in
            try EventStream.response(
                to: call.request,
                events: AsyncStream<ServiceEvent> { continuation in continuation.finish() },
                place: try EventStreams().enter())
        }
        try await withServer(routes: [events], limits: Self.patient) { server in
            let client = try server.client()
            try await client.send(Self.request("1.0", "Connection: keep-alive\r\n", path: "/events"))
            let answer = try #require(Answer(try await client.receiveAll()))
            #expect(answer.headers["transfer-encoding"] == nil && answer.headers["connection"] == "close")
            #expect(answer.text == "retry: 1000\n\n: connected\n\n")
        }
    }

    @Test func `An HTTP 1.0 client receives no interim response`() async throws {
        let post = Route(.post, "/post") { call in
            try Reply.json(try await RequestDecoder().decode(CancelRequest.self, from: call.request)).response
        }
        try await withServer(routes: [post], limits: Self.patient) { server in
            let client = try server.client()
            try await client.send(
                "POST /post HTTP/1.0\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 2\r\n\r\n{}")
            #expect(Answer(try await client.receiveAll())?.status == 200)
        }
    }
}
