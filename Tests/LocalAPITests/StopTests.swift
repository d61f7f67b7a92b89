import HTTPTypes
import NIOCore
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct StopTests {
    @Test func `Requests under way get their answers, and then the connection ends`() async throws {
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

    @Test func `Connections without a request are closed at once and none is accepted`() async throws {
        try await withServer(routes: [.hello]) { server in
            let client = try server.client()
            _ = try await client.request("GET", "/hello")
            await server.stop()
            #expect(try await client.receiveAll() == [])
            #expect(throws: UnixClient.Failure.self) { try server.client() }
        }
    }

    @Test func `A request that never ends is cut off`() async throws {
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
}
