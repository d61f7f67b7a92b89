import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OriginServerTests {
    let origin: OriginServer
    let directory: TemporaryDirectory

    init() throws {
        origin = try OriginServer()
        directory = try TemporaryDirectory()
    }

    @Test func `The origin serves several requests on one connection`() async throws {
        origin.serve("/a", .text("a"))
        origin.serve("/below/", .text("b"))
        let outcome = try await ChildProcess.run(
            "curl", ["-sS", "--noproxy", "*", origin.url("/a"), origin.url("/below/x"), origin.url("/below/y?z=1")])
        #expect(outcome.output == "abb")
        #expect(origin.requests.map(\.connection) == [0, 0, 0])
        #expect(origin.connectionCount == 1)
        #expect(origin.requests.last?.path == "/below/y" && origin.requests.last?.query == "z=1")
        #expect(origin.requests.first?.field("user-agent")?.hasPrefix("curl/") == true)
    }

    @Test func `Resources and behaviours can change while the origin runs`() async throws {
        origin.serve("/a", .text("old"))
        origin.setBehaviours([.status(500)], for: "/a")
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).status == 500)
        origin.setBehaviours([], for: "/a")
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).body == Array("old".utf8))
        origin.serve("/a", .text("new"))
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).body == Array("new".utf8))
        origin.remove("/a")
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).status == 404)
    }

    @Test func `The origin refuses connections until it listens again`() async throws {
        origin.serve("/a", .text("a"))
        origin.stopListening()
        // Exit code 7 says that curl could not connect.
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).code == 7)
        try origin.startListening()
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).status == 200)
        origin.stop()
        #expect(try await Fetched.byCurl(origin.url("/a"), [], in: directory).code == 7)
    }

    @Test func `A port that refuses connections stays reserved for its origin`() async throws {
        origin.stopListening()
        let bind = "import socket; socket.socket().bind(('127.0.0.1', \(origin.port)))"
        let outcome = try await ChildProcess.run("python3", ["-c", bind])
        #expect(outcome.errors.contains("Address already in use"), "\(outcome)")
        try origin.startListening()
    }

    @Test func `A stopped origin ends its stalled connections`() async throws {
        origin.serve("/a", .text("abc", .stallAfter(1)))
        async let fetched = Fetched.byCurl(origin.url("/a"), [], in: directory)
        try await origin.waitForRequest(for: "/a")
        origin.stop()
        #expect(origin.openConnectionCount == 0)
        #expect(try await fetched.code != 0)
    }

    @Test func `The origin stops when its object is deallocated`() async throws {
        var short: OriginServer? = try OriginServer()
        let url = try #require(short?.url("/"))
        #expect(try await Fetched.byCurl(url, [], in: directory).status == 404)
        short = nil
        #expect(try await Fetched.byCurl(url, [], in: directory).code == 7)
    }

    @Test func `The origin stops after its lifetime`() async throws {
        let brief = try OriginServer(lifetime: .zero)
        #expect(try await Fetched.byCurl(brief.url("/"), [], in: directory).code != 0)
        #expect(brief.requests.isEmpty)
    }

    @Test func `The origin listens on IPv6`() async throws {
        let six: OriginServer
        do {
            six = try OriginServer(host: .ipv6)
        } catch let error as SystemError {
            // This machine has no IPv6.
            #expect(error.call == "socket" || error.call == "bind")
            return
        }
        six.serve("/a", .text("six"))
        #expect(try await Fetched.byCurl(six.url("/a"), [], in: directory).body == Array("six".utf8))
    }

    @Test func `Waits throw an error after their time limit`() async throws {
        await #expect(throws: WaitedTooLong.self) {
            try await origin.waitForRequest(within: .milliseconds(20))
        }
        await #expect(throws: WaitedTooLong.self) {
            try await eventually("never", within: .milliseconds(20)) { false }
        }
    }
}
