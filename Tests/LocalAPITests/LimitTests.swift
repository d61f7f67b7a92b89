import Foundation
import HTTPTypes
import NIOCore
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct LimitTests {
    /// A decoder that waits for a body as long as a busy machine needs to send one.
    private static let decoder = RequestDecoder(timeout: .seconds(600))
    /// A route that reads a small body.
    private let change = Route(.patch, "/change") { call in
        try Reply.json(try await decoder.decode(TaskChange.self, from: call.request)).response
    }
    /// A route that reads a large body.
    private let enqueue = Route(.post, "/tasks") { call in
        let request = try await decoder.decode(EnqueueRequest.self, from: call.request, limit: Limits.requestBody)
        return try Reply.json(request.tasks.count).response
    }

    private func chunk(_ text: String) -> String {
        "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
    }

    @Test func `The server refuses a body that declares too many bytes without reading it`() async throws {
        try await withServer(routes: [change, enqueue]) { server in
            for (method, target, limit) in [
                ("PATCH", "/change", ConnectionLimits.smallBody), ("POST", "/tasks", Limits.requestBody),
            ] {
                let client = try server.client()
                try await client.send(
                    UnixClient.head(
                        method, target,
                        headers: ["Content-Length": "\(limit + 1)", "Content-Type": "application/json"]))
                let answer = try await client.answer()
                #expect(answer.status == 413)
                #expect(try answer.problem.detail?.contains("\(limit)") == true)
            }
        }
    }

    @Test func `The server refuses a body that becomes too large`() async throws {
        try await withServer(routes: [change]) { server in
            let client = try server.client()
            try await client.send(
                UnixClient.head(
                    "PATCH", "/change",
                    headers: ["Transfer-Encoding": "chunked", "Content-Type": "application/json"]))
            let piece = chunk(String(repeating: " ", count: 65_536))
            for _ in 0..<(ConnectionLimits.smallBody / 65_536 + 1) { try await client.send(piece) }
            #expect(try await client.answer().problem.type == "/problems/too-large")
        }
    }

    @Test func `A client may send its body in chunks`() async throws {
        try await withServer(routes: [change]) { server in
            let client = try server.client()
            try await client.send(
                UnixClient.head(
                    "PATCH", "/change",
                    headers: ["Transfer-Encoding": "chunked", "Content-Type": "application/json"]))
            try await client.send(chunk("{\"priority\"") + chunk(":0.25}") + "0\r\n\r\n")
            #expect(try await client.answer().text == "{\"priority\":0.25}")
        }
    }

    @Test func `The server reads large bodies in turn and accepts all of them`() async throws {
        let task = "{\"url\":\"https://example.org/\(String(repeating: "x", count: 100))\"}"
        let body = "{\"tasks\":[" + Array(repeating: task, count: 2_000).joined(separator: ",") + "]}"
        #expect(body.utf8.count > ConnectionLimits.turnlessBody)
        try await withServer(routes: [enqueue]) { server in
            try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<8 { group.addTask { try await server.request("POST", "/tasks", body: body) } }
                for try await answer in group { #expect(answer.text == "2000") }
            }
        }
    }

    @Test func `A stalled large body ends with its connection and does not block others`() async throws {
        let decoder = RequestDecoder(timeout: .milliseconds(200))
        let enqueue = Route(.post, "/tasks") { call in
            let request = try await decoder.decode(EnqueueRequest.self, from: call.request, limit: Limits.requestBody)
            return try Reply.json(request.tasks.count).response
        }
        let task = "{\"url\":\"https://example.org/\(String(repeating: "x", count: 100))\"}"
        let body = "{\"tasks\":[" + Array(repeating: task, count: 2_000).joined(separator: ",") + "]}"
        var limits = ConnectionLimits()
        limits.idleTimeout = .hours(1)
        try await withServer(routes: [enqueue], limits: limits) { server in
            let stalled = try (0..<2 * ConnectionLimits.largeBodies).map { _ in try server.client() }
            for client in stalled {
                try await client.send(UnixClient.head("POST", "/tasks", body: body) + body.prefix(100))
            }
            for client in stalled {
                let received = (try? await client.receiveAll()) ?? []
                #expect(received == [])
                #expect(client.hasEnded)
            }
            // On a busy machine, even a complete body may not arrive within this short time.
            var answer: Answer?
            for _ in 0..<50 where answer == nil { answer = try? await server.request("POST", "/tasks", body: body) }
            #expect(answer?.text == "2000")
        }
    }

    @Test func `The server asks a client that waits for an interim response to send its body`() async throws {
        try await withServer(routes: [change]) { server in
            let client = try server.client()
            let body = "{\"priority\":1}"
            try await client.send(UnixClient.head("PATCH", "/change", headers: ["Expect": "100-continue"], body: body))
            #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
            try await client.send(body)
            #expect(try await client.answer().status == 200)
        }
    }

    @Test func `The server does not ask a client to send a body that is too large`() async throws {
        try await withServer(routes: [enqueue]) { server in
            let client = try server.client()
            try await client.send(
                UnixClient.head(
                    "POST", "/tasks",
                    headers: [
                        "Expect": "100-continue", "Content-Length": "\(Limits.requestBody + 1)",
                        "Content-Type": "application/json",
                    ]))
            #expect(try await client.answer().status == 413)
        }
    }

    @Test(arguments: [
        ["X": String(repeating: "x", count: 20_000)],
        Dictionary(uniqueKeysWithValues: (0..<5).map { ("X\($0)", String(repeating: "x", count: 8_000)) }),
        Dictionary(uniqueKeysWithValues: (0..<200).map { ("X\($0)", "x") }),
    ])
    func `The server refuses a request head that is too large`(headers: [String: String]) async throws {
        let answer = try await withServer(routes: [.hello]) { server in
            let client = try server.client()
            // The server may respond and close the connection before it has read everything.
            try? await client.send(UnixClient.head("GET", "/hello", headers: headers))
            return try await client.answer()
        }
        #expect(answer.status == 431)
        #expect(try answer.problem.type == "/problems/headers-too-large")
    }

    @Test(arguments: [
        "", "GET /hello HTTP/1.1\r\nHost: loc",
        "PATCH /change HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
    ])
    func `The server closes an idle connection`(beginning: String) async throws {
        var (limits, patient) = (ConnectionLimits(), ConnectionLimits())
        limits.idleTimeout = .milliseconds(200)
        patient.idleTimeout = .minutes(30)
        try await withServer(routes: [.hello, change], limits: patient) { [limits] patientServer in
            let older = try patientServer.client()
            if !beginning.isEmpty { try await older.send(beginning) }
            try await withServer(routes: [.hello, change], limits: limits) { server in
                let client = try server.client()
                // On a busy machine, the connection may already be closed.
                if !beginning.isEmpty { try? await client.send(beginning) }
                // The server closes the connection although nothing happened. The connection ends with a reset if
                // unread data was left.
                let rest = (try? await client.receiveAll()) ?? []
                #expect(Answer(rest).map { $0.status == 400 } ?? true)
            }
            #expect(older.isSilent, "It is the limit that ends it.")
        }
    }

    @Test func `A head that is sent byte by byte does not keep its connection open`() async throws {
        var limits = ConnectionLimits()
        limits.idleTimeout = .milliseconds(300)
        try await withServer(routes: [.hello], limits: limits) { server in
            let client = try server.client()
            let ended = Task { try await client.receiveAll() }
            await #expect(throws: UnixClient.Failure.self) {
                // This takes far longer than the timeout. Sending fails once the connection is closed.
                for byte in "GET /hello HTTP/1.1\r\nX: \(String(repeating: "x", count: 1_000))".utf8 {
                    try await client.send([byte])
                    try await passTime(.milliseconds(20), because: "The bytes come one by one.")
                }
            }
            _ = try? await ended.value
        }
    }

    @Test func `A connection whose request is being handled is not idle`() async throws {
        var limits = ConnectionLimits()
        limits.idleTimeout = .seconds(1)
        let slow = Route(.get, "/slow") { _ in
            try await passTime(.seconds(3), because: "It takes longer than a connection may idle.")
            return try Reply.json("done").response
        }
        let answer = try await withServer(routes: [slow], limits: limits) { try await $0.request("GET", "/slow") }
        #expect(answer.status == 200)
    }

    @Test func `A connection beyond the limit waits until another one closes`() async throws {
        var limits = ConnectionLimits()
        limits.connections = 2
        // The timeout is long, so that no connection is closed for being idle on a slow machine.
        limits.idleTimeout = .hours(1)
        try await withServer(routes: [.hello], limits: limits) { server in
            var first: UnixClient? = try server.client()
            let second = try server.client()
            _ = try await first?.request("GET", "/hello")
            _ = try await second.request("GET", "/hello")
            let third = try server.client()
            try await third.send(UnixClient.head("GET", "/hello"))
            for _ in 0..<100 { _ = try await second.request("GET", "/hello") }
            #expect(third.isSilent, "Others are answered meanwhile.")
            first = nil
            #expect(try await third.answer().status == 200)
        }
    }
}
