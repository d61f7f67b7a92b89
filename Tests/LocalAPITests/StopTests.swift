import Glibc
import HTTPTypes
import NIOCore
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct StopTests {
    @Test func `A stop waits for responses to running requests, then closes their connections`() async throws {
        let (begun, mayEnd) = (Watched(false), Watched(false))
        let slow = Route(.get, "/slow") { _ in
            begun.update { $0 = true }
            try await mayEnd.wait(for: "the stop") { $0 }
            return try Reply.json("done").response
        }
        var limits = ConnectionLimits()
        limits.stopTimeout = .minutes(10)
        try await withServer(routes: [slow], limits: limits) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/slow"))
            try await begun.wait(for: "the request") { $0 }
            await server.stop()
            try await eventually("the stop") { (try? server.client()) == nil }
            mayEnd.update { $0 = true }
            let answer = try #require(Answer(try await client.receiveAll()))
            #expect(answer.text == "\"done\"")
        }
    }

    @Test func `A stop closes connections without a request at once, and refuses further connections`() async throws {
        try await withServer(routes: [.hello]) { server in
            let client = try server.client()
            _ = try await client.request("GET", "/hello")
            await server.stop()
            #expect(try await client.receiveAll() == [])
            #expect(throws: UnixClient.Failure.self) { try server.client() }
        }
    }

    @Test func `A stop cuts off a request that does not end`() async throws {
        var limits = ConnectionLimits()
        limits.stopTimeout = .milliseconds(200)
        let (begun, mayEnd) = (Watched(false), Watched(false))
        let endless = Route(.get, "/endless") { _ in
            begun.update { $0 = true }
            try await mayEnd.wait(for: "the end of the test") { $0 }
            return try Reply.json("done").response
        }
        try await withServer(routes: [endless], limits: limits) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/endless"))
            try await begun.wait(for: "the request") { $0 }
            await server.stop()
            #expect(try await client.receiveAll() == [])
            mayEnd.update { $0 = true }
        }
    }

    /// The sizes of the responses. For some of them, the socket buffer holds all but the end.
    private static let sizes = stride(from: 64 << 10, through: 768 << 10, by: 16 << 10)

    private static let sized = sizes.map { size in
        Route(.get, "/sized/\(size)") { _ in try Reply.json(String(repeating: "x", count: size)).response }
    }

    /// Requests responses of all sizes without reading them.
    ///
    /// - Parameter isLast: whether the client closes its sending direction after the request.
    private func ask(_ server: TestServer, isLast: Bool = false) async throws -> [(size: Int, client: UnixClient)] {
        var asked: [(size: Int, client: UnixClient)] = []
        for size in Self.sizes { asked.append((size, try await ask(server, size, isLast: isLast))) }
        // This waits until the socket buffers are full.
        var (before, calm) = ([Int](), 0)
        while calm < 20 {
            _ = try await untilItSucceeds { try await server.request("GET", "/hello") }
            // This repeats requests on connections that the server considered idle while the request was in transit.
            for index in asked.indices where asked[index].client.hasEnded {
                asked[index].client = try await ask(server, asked[index].size, isLast: isLast)
            }
            let now = asked.map { $0.client.available }
            calm = now == before && !now.contains(0) ? calm + 1 : 0
            before = now
        }
        return asked
    }

    private func ask(_ server: TestServer, _ size: Int, isLast: Bool) async throws -> UnixClient {
        try await untilItSucceeds {
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/sized/\(size)"))
            if isLast { shutdown(client.descriptor, Int32(SHUT_WR)) }
            return client
        }
    }

    /// Repeats `body`, because the server may close a connection as idle before a slow machine sends something over it.
    private func untilItSucceeds<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch is UnixClient.Failure {
                try Task.checkCancellation()
            }
        }
    }

    private func expectWhole(_ asked: [(size: Int, client: UnixClient)]) async throws {
        var shortened = 0
        for (size, client) in asked {
            if client.available < size { shortened += 1 }
            let answer = try #require(Answer(try await client.receiveAll()), "\(size)")
            #expect(answer.isWhole && answer.text.utf8.count == size + 2, "\(size)")
        }
        // Without this, the test would prove nothing.
        #expect(shortened > 0 && shortened < asked.count)
    }

    @Test(.timeLimit(.minutes(20)))
    func `A stop does not truncate the response to a slow reader`() async throws {
        var limits = ConnectionLimits()
        limits.stopTimeout = .minutes(10)
        try await withServer(routes: Self.sized + [.hello], limits: limits) { server in
            let asked = try await ask(server)
            await server.stop()
            try await eventually("the stop") { (try? server.client()) == nil }
            try await expectWhole(asked)
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [false, true])
    func `A pause in reading does not truncate the response`(stops: Bool) async throws {
        var limits = ConnectionLimits()
        limits.idleTimeout = .milliseconds(300)
        limits.stopTimeout = .minutes(10)
        try await withServer(routes: Self.sized + [.hello], limits: limits) { server in
            let asked = try await ask(server)
            try await passTime(.seconds(1), because: "A connection is idle only after a while.")
            if stops {
                await server.stop()
                try await eventually("the stop") { (try? server.client()) == nil }
            }
            try await expectWhole(asked)
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [false, true])
    func `A client that half-closes receives the whole response, however slowly it reads`(stops: Bool) async throws {
        var limits = ConnectionLimits()
        limits.stopTimeout = .minutes(10)
        try await withServer(routes: Self.sized + [.hello], limits: limits) { server in
            let asked = try await ask(server, isLast: true)
            if stops {
                await server.stop()
                try await eventually("the stop") { (try? server.client()) == nil }
            }
            try await expectWhole(asked)
        }
    }

    @Test(.timeLimit(.minutes(20))) func `A client that half-closes and reads nothing does not delay the stop`()
        async throws
    {
        var limits = ConnectionLimits()
        limits.stopTimeout = .milliseconds(200)
        let asked = try await withServer(routes: Self.sized + [.hello], limits: limits) {
            try await ask($0, isLast: true)
        }
        #expect(asked.count == Array(Self.sizes).count)
    }

    @Test(.timeLimit(.minutes(20))) func `A client that reads nothing does not delay the stop`() async throws {
        var limits = ConnectionLimits()
        limits.stopTimeout = .milliseconds(200)
        let asked = try await withServer(routes: Self.sized + [.hello], limits: limits) { try await ask($0) }
        #expect(asked.count == Array(Self.sizes).count)
    }
}
