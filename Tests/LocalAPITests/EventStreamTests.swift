import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct EventStreamTests {
    /// A source that counts the requested events.
    private final class Source: Sendable {
        let asked = Watched(0)
        let ended = Watched(false)

        /// An endless stream of entries of about `size` bytes.
        func stream(size: Int) -> AsyncStream<ServiceEvent> {
            let detail = String(repeating: "x", count: size)
            return AsyncStream(
                unfolding: {
                    let id = self.asked.update { count -> Int in
                        count += 1
                        return count
                    }
                    return .journal(JournalEntry(id: Int64(id), time: .now, decision: .held, detail: detail))
                }, onCancel: { self.ended.update { $0 = true } })
        }
    }

    private func route(
        _ streams: EventStreams = EventStreams(), _ events: @escaping @Sendable () -> AsyncStream<ServiceEvent>
    ) -> Route {
        Route(.get, "/events") { call in
            try EventStream.response(to: call.request, events: events(), place: try streams.enter())
        }
    }

    private func silent() -> AsyncStream<ServiceEvent> { AsyncStream { _ in } }

    @Test func `Events are serialized as the HTML standard defines`() throws {
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        let entry = JournalEntry(id: 7, time: time, decision: .held, task: TaskID(3), detail: "one\ntwo")
        #expect(
            String(buffer: try ServiceEvent.journal(entry).frame()) == """
                id: 7
                event: journal
                data: {"decision":"held","detail":"one\\ntwo","id":7,"task":3,"time":"2027-01-15T08:00:00.000Z"}


                """)
        let progress = TaskProgress(
            id: TaskID(3), countOfBytesReceived: 1, countOfBytesExpectedToReceive: 2, countOfBytesSent: 0,
            countOfBytesExpectedToSend: 0, bytesPerSecond: 1.5)
        let frame = String(buffer: try ServiceEvent.progress(progress).frame())
        #expect(frame.hasPrefix("event: progress\ndata: {\"bytesPerSecond\":1.5,"))
        #expect(frame.hasSuffix("}\n\n"))
        #expect(
            String(buffer: try ServiceEvent.reset(lastEntry: 9).frame())
                == "id: 9\nevent: reset\ndata: {\"lastEntry\":9}\n\n")
    }

    @Test func `An event stream sends head and preamble before the first event`() async throws {
        try await withServer(routes: [route { self.silent() }]) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/events"))
            let text = try await client.receive(through: ": connected\n\n")
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(text.lowercased().contains("\r\ncontent-type: text/event-stream\r\n"))
            #expect(text.contains("retry: 1000\n\n: connected\n\n"))
        }
    }

    @Test(arguments: ["Content-Length", "Transfer-Encoding"])
    func `The server refuses a request for events that has a body, without using a slot`(field: String) async throws {
        let streams = EventStreams(limit: 1)
        try await withServer(routes: [route(streams) { self.silent() }]) { server in
            let fields = [field: field == "Content-Length" ? "1000000" : "chunked"]
            for _ in 0..<3 {
                let client = try server.client()
                try await client.send(UnixClient.head("GET", "/events", headers: fields))
                #expect(try await client.answer().problem.status == 400)
            }
            let reader = try server.client()
            try await reader.send(UnixClient.head("GET", "/events"))
            #expect(try await reader.receive(through: ": connected").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `The response to a request for events ends with its events`() async throws {
        let events = AsyncStream<ServiceEvent> {
            $0.yield(.reset(lastEntry: 1))
            $0.finish()
        }
        try await withServer(routes: [route { events }]) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/events"))
            let text = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(text.contains("event: reset"))
            #expect(text.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func `A slow reader delays only its own source`() async throws {
        let source = Source()
        let size = 32_768
        try await withServer(routes: [.hello, route { source.stream(size: size) }]) { server in
            let reader = try server.client()
            try await reader.send(UnixClient.head("GET", "/events"))
            _ = try await reader.receive(through: "event: journal")
            // Once the socket buffer is full, the server requests no more events.
            var count = 0
            var calm = 0
            while calm < 100 {
                _ = try await server.request("GET", "/hello")
                let now = source.asked.read { $0 }
                calm = now == count ? calm + 1 : 0
                count = now
                try #require(count * size < 64 << 20, "the source is drained without bound")
            }
            #expect(count * size < 2 << 20)
            let stalled = count
            // The stream continues once the client reads again.
            for _ in 0..<200 { _ = try await reader.receive() }
            try await source.asked.wait(for: "more to be asked for") { $0 > stalled }
        }
    }

    @Test func `A reader that disconnects frees its slot`() async throws {
        let streams = EventStreams(limit: 1)
        let source = Watched(0)
        let events: @Sendable () -> AsyncStream<ServiceEvent> = {
            AsyncStream { continuation in
                continuation.onTermination = { _ in source.update { $0 += 1 } }
            }
        }
        try await withServer(routes: [route(streams, events)]) { server in
            var reader: UnixClient? = try server.client()
            try await reader?.send(UnixClient.head("GET", "/events"))
            _ = try await reader?.receive(through: ": connected")
            let refused = try await server.request("GET", "/events")
            #expect(try refused.problem.type == "/problems/too-many")
            #expect(refused.status == 429)
            reader = nil
            try await source.wait(for: "the end of the stream") { $0 == 1 }
            // The slot is free when the Swift task of the connection has ended, shortly after its source.
            var status = 429
            try await eventually("a place") {
                let client = try server.client()
                try await client.send(UnixClient.head("GET", "/events"))
                status = try #require(Answer(Array(try await client.receive(through: "\r\n\r\n").utf8))).status
                return status != 429
            }
            #expect(status == 200)
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [true, false])
    func `A stop ends waiting and active event streams`(flows: Bool) async throws {
        let source = Source()
        // The final chunk is missing in a stream that is cut off.
        var limits = ConnectionLimits()
        limits.stopTimeout = .minutes(10)
        let events = route { flows ? source.stream(size: 100_000) : silent() }
        try await withServer(routes: [events], limits: limits) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/events"))
            _ = try await client.receive(through: flows ? "event: journal" : ": connected")
            async let rest = client.receiveAll()
            await server.stop()
            let text = String(decoding: try await rest, as: UTF8.self)
            #expect(flows ? text.hasSuffix("0\r\n\r\n") : text == "0\r\n\r\n")
        }
    }

    @Test(.timeLimit(.minutes(20))) func `A stop cuts off a stream that its client does not read`() async throws {
        let source = Source()
        // The stream is larger than a socket buffer.
        let events = route { source.stream(size: 8 << 20) }
        let client = try await withServer(routes: [events]) { server in
            let client = try server.client()
            try await client.send(UnixClient.head("GET", "/events"))
            _ = try await client.receive(through: "event: journal")
            await server.stop()
            return client
        }
        // The server has stopped without waiting for the client.
        let rest = try? await client.receiveAll()
        #expect(rest?.count ?? 0 < 8 << 20)
    }
}
