import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct CallerTests {
    @Test(arguments: [
        (1000, 1000, true), (1001, 1000, false), (0, 1000, true), (65_534, 1000, false), (1000, 0, false),
    ])
    func `The service accepts its owner and root`(user: UInt32, owner: UInt32, isAllowed: Bool) {
        #expect(Caller(user: user, process: 1).isAllowed(owner: owner) == isAllowed)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root to become another user"))
    func `The service refuses another user before it reads the request`() async throws {
        try await withServer(routes: [.hello]) { server in
            // The test opens the permissions, so that only the check of the caller remains.
            chmod(URL(filePath: server.path).deletingLastPathComponent().path, 0o755)
            chmod(server.path, 0o666)
            let directory = try TemporaryDirectory()
            let output = directory.path("out")
            for target in ["/hello", "/none"] {
                let curl = try ChildProcess(
                    "setpriv",
                    arguments: [
                        "--reuid=65534", "--clear-groups", "curl", "-sS", "--max-time", "10", "--unix-socket",
                        server.path,
                        "-w", " %{http_code}", "http://localhost\(target)",
                    ], output: .file(output))
                #expect(try await curl.waitForExit() == .code(0))
            }
            let text = try String(contentsOfFile: output, encoding: .utf8)
            #expect(text.components(separatedBy: "/problems/forbidden").count == 3, "\(text)")
            #expect(text.components(separatedBy: " 403").count == 3, "\(text)")
        }
    }

    @Test(arguments: [
        ("localhost", 200), ("LocalHost", 200), ("nightshift", 200), ("localhost:80", 200), ("nightshift:8080", 200),
        ("localhost:", 403), ("localhost:x", 403), ("localhost.evil.example", 403), ("evil.example", 403),
        ("127.0.0.1", 403), ("[::1]", 403), ("localhost@evil.example", 403), ("", 400),
    ])
    func `The service accepts only its own host names`(host: String, status: Int) async throws {
        let answer = try await withServer(routes: [.hello]) {
            try await $0.request("GET", "/hello", headers: ["Host": host])
        }
        #expect(answer.status == status)
        if status != 200 { #expect(try answer.problem.status == status) }
    }

    @Test(arguments: ["https://evil.example", "null", "http://localhost"])
    func `The service refuses requests of web pages`(origin: String) async throws {
        let answer = try await withServer(routes: [.hello]) {
            try await $0.request("GET", "/hello", headers: ["Origin": origin])
        }
        #expect(try answer.problem.type == "/problems/forbidden")
    }

    @Test(arguments: [
        ("http://localhost/hello", 200), ("http://LOCALHOST/hello", 200), ("*", 400), ("hello", 400),
        // A host in the target counts as much as the Host field, which names a different host here.
        ("http://nightshift/hello", 400), ("http://evil.example/hello", 400),
        ("http://localhost@evil.example/hello", 400),
    ])
    func `The request target must be a path or an absolute URL`(target: String, status: Int) async throws {
        let answer = try await withServer(routes: [.hello]) {
            try await $0.request(target == "*" ? "OPTIONS" : "GET", target)
        }
        #expect(answer.status == status)
    }

    @Test(arguments: [
        "Host: localhost\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: localhost\r\n",
        "Host: localhost\r\nhOST: localhost\r\n", "Host:\r\nHost: localhost\r\n", "",
    ])
    func `A request must name exactly one host`(fields: String) async throws {
        let answer = try await withServer(routes: [.hello]) { server in
            let client = try server.client()
            try await client.send("GET /hello HTTP/1.1\r\n\(fields)\r\n")
            return try await client.answer()
        }
        #expect(answer.status == 400)
        #expect(try answer.problem.type == "/problems/bad-request")
    }
}
