import Foundation
import HTTPTypes
import NightshiftAPI
import Testing

@testable import LocalAPI

@Suite struct RoutingTests {
    private let routes = [
        Route.hello,
        Route(.post, "/hello") { _ in Reply.empty(.accepted).response },
        Route(.get, "/things/{id}", query: ["after"]) { call in
            try Reply.json([try call.sessionID().rawValue, String(try call.query.integer("after", in: 0...9) ?? -1)])
                .response
        },
        Route(.delete, "/things/{id}") { _ in Reply.empty(.noContent).response },
    ]

    @Test func `Every response has a version and a date`() async throws {
        try await withServer(routes: routes) { server in
            for (method, target, status) in [
                ("GET", "/hello", 200), ("POST", "/hello", 202), ("DELETE", "/things/1", 204), ("GET", "/none", 404),
                ("PUT", "/hello", 405), ("GET", "/hello?x=1", 400), ("WAS IST DAS", "/hello", 400),
            ] {
                let answer = try await server.request(method, target)
                #expect(answer.status == status, "\(method) \(target)")
                #expect(answer.headers["nightshift-version"] == NightshiftVersion.current)
                let date = try #require(answer.headers["date"])
                #expect(
                    date.wholeMatch(of: /(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/)
                        != nil)
            }
        }
    }

    @Test func `The server answers HEAD without a body, so that another response can follow`() async throws {
        try await withServer(routes: routes) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("HEAD", "/none") + UnixClient.head("GET", "/hello"))
            let text = try await client.receive(through: "{\"ok\":true}")
            #expect(text.hasPrefix("HTTP/1.1 404 "))
            let end = try #require(text.firstRange(of: "\r\n\r\n"))
            #expect(text[end.upperBound...].hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test(arguments: [
        ("GET", "/none", 404, "/problems/not-found"),
        ("GET", "/", 404, "/problems/not-found"),
        ("GET", "/things/1/2", 404, "/problems/not-found"),
        ("PATCH", "/hello", 405, "/problems/method-not-allowed"),
        ("OPTIONS", "/hello", 405, "/problems/method-not-allowed"),
        ("PROPFIND", "/things/1", 405, "/problems/method-not-allowed"),
        ("GET", "/hello?a=1", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=1&after=2", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=%zz", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=+1", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=01", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=10", 400, "/problems/bad-request"),
        ("GET", "/things/1?after=99999999999999999999", 400, "/problems/bad-request"),
        ("GET", "/things/%ff", 400, "/problems/bad-request"),
    ])
    func `The server answers a request without a route with a problem document`(
        method: String, target: String, status: Int, type: String
    ) async throws {
        let answer = try await withServer(routes: routes) { try await $0.request(method, target) }
        #expect(answer.status == status)
        let problem = try answer.problem
        #expect(problem.type == type)
        #expect(problem.status == status)
        #expect(problem.detail?.isEmpty == false)
        if status == 405 {
            #expect(answer.headers["allow"] == (target == "/hello" ? "GET, POST" : "GET, DELETE"))
        }
    }

    @Test func `The service decodes the path and the query`() async throws {
        let answer = try await withServer(routes: routes) {
            try await $0.request("GET", "/things/a%2Fb%20%C3%A4?after=%37")
        }
        #expect(try answer.decode([String].self) == ["a/b ä", "7"])
    }

    @Test(arguments: [
        "GARBAGE\r\n\r\n",
        "GET /hello HTTP/9.9\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n",
        "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
    ])
    func `A request that is not HTTP gets a problem, and its connection is closed`(request: String) async throws {
        try await withServer(routes: routes) { server in
            let client = try server.client()
            try await client.send(request)
            let answer = try #require(Answer(try await client.receiveAll()))
            #expect(answer.status == 400)
            #expect(try answer.problem.type == "/problems/bad-request")
            #expect(answer.headers["connection"] == "close")
        }
    }

    @Test func `A client may send several requests on one connection`() async throws {
        try await withServer(routes: routes) { server in
            let client = try server.client()
            for _ in 0..<3 {
                #expect(try await client.request("GET", "/hello").status == 200)
                #expect(try await client.request("GET", "/none").status == 404)
            }
        }
    }

    @Test func `The Date field has the format of RFC 9110`() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
