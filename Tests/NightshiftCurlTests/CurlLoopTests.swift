import Foundation
import NightshiftCurl
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct CurlLoopTests {
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    private func request(_ server: ScriptedServer, idle: Double? = 600) -> CurlRequest {
        var request = CurlRequest(url: server.url())
        request.proxy = ""
        request.idleTimeout = idle
        return request
    }

    @Test func `A request over a Unix socket gets its response`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let server = try ScriptedServer(unixSocket: path, [.read, .readBody(4), .write(ok)])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        var request = CurlRequest(url: "http://nightshift/v1/tasks", method: "POST", body: .bytes(Array("body".utf8)))
        request.unixSocket = path
        let response = try await loop.send(request)
        #expect(response.head.status == 200)
        #expect(response.body == Array("hello".utf8))
        withExtendedLifetime(server) {}
    }

    @Test func `A response larger than its limit is an error`() async throws {
        let server = try ScriptedServer([.read, .write(ok), .stall])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let error = await #expect(throws: CurlEnd.self) { try await loop.send(request(server), bodyLimit: 4) }
        #expect(error?.code == 63)
    }

    @Test func `The loop delivers interim responses before the head`() async throws {
        let server = try ScriptedServer([
            .read, .write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + ok),
        ])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let recorder = Recorder()
        _ = loop.begin(request(server), delegate: recorder)
        #expect(try await recorder.end().code == 0)
        let heard = recorder.heard.read { $0 }
        #expect(heard.interim == [103, 102])
        #expect(heard.heads.map(\.status) == [200])
        #expect(heard.ends.count == 1)
    }

    @Test func `Endless interim responses end the exchange`() async throws {
        let server = try ScriptedServer([.read, .writeForEver("HTTP/1.1 103 Early Hints\r\n\r\n")])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let recorder = Recorder()
        _ = loop.begin(request(server), delegate: recorder)
        #expect(try await recorder.end().code == 8)
    }

    @Test func `Endless header fields end the exchange`() async throws {
        let server = try ScriptedServer([.read, .write("HTTP/1.1 200 OK\r\n"), .writeForEver("X-Y: z\r\n")])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let recorder = Recorder()
        _ = loop.begin(request(server), delegate: recorder)
        #expect(try await recorder.end().code == 8)
        #expect(recorder.heard.read { $0.heads.isEmpty })
    }

    @Test(arguments: [
        (CurlRequest(url: "http://127.0.0.1:1/", headers: [CurlField(name: "A", value: "b\r\nC: d")]), "field"),
        (CurlRequest(url: "http://127.0.0.1:1/", headers: [CurlField(name: "A b", value: "c")]), "name"),
        (CurlRequest(url: "http://127.0.0.1:1/", method: "GET / HTTP/1.1\r\nX:"), "method"),
        (CurlRequest(url: "http://127.0.0.1:1/\0a"), "NUL"),
    ])
    func `The loop refuses requests with line breaks, NUL or invalid field names`(request: CurlRequest, word: String)
        async throws
    {
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let recorder = Recorder()
        _ = loop.begin(request, delegate: recorder)
        let end = try await recorder.end()
        #expect(end.code == 43)
        #expect(end.message.contains(word))
    }

    @Test func `A reader that stops reading makes the server wait`() async throws {
        let size = 64 << 20
        let gate = Watched(false)
        let server = try ScriptedServer([
            .read, .write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"), .writeBytes(size), .hold(gate),
        ])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let stream = try await loop.stream(request(server))
        let first = try #require(try await stream.next())
        #expect(first.count <= 262_144)
        var count = first.count
        var largest = first.count
        while let bytes = try await stream.next() {
            count += bytes.count
            largest = max(largest, bytes.count)
        }
        gate.update { $0 = true }
        #expect(count == size)
        #expect(largest <= 262_144)
    }

    @Test func `A cancelled reader ends its exchange`() async throws {
        let server = try ScriptedServer([
            .read, .write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n"), .stall,
        ])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let request = request(server, idle: nil)
        let reader = Task {
            var texts: [String] = []
            do {
                for try await bytes in try await loop.stream(request) {
                    texts.append(String(decoding: bytes, as: UTF8.self))
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            } catch let end as CurlEnd where end.wasCancelled {
                texts.append("cancelled")
            }
            return texts
        }
        #expect(try await reader.value == [": hello\n\n", "cancelled"])
    }

    @Test func `A shutdown ends running exchanges and all later ones at once`() async throws {
        let server = try ScriptedServer([.read, .stall])
        let loop = CurlLoop()
        let recorders = (0..<10).map { _ in Recorder() }
        for recorder in recorders { _ = loop.begin(request(server), delegate: recorder) }
        loop.shutdown()
        for recorder in recorders { #expect(recorder.heard.read { $0.ends.map(\.wasCancelled) } == [true]) }
        let late = Recorder()
        _ = loop.begin(request(server), delegate: late)
        #expect(try await late.end().wasCancelled)
    }

    @Test func `The loop reuses connections until the client asks it to forget them`() async throws {
        let server = try ScriptedServer([.read, .write(ok), .read, .write(ok), .read, .write(ok)])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        for _ in 0..<2 { _ = try await loop.send(request(server)) }
        #expect(server.connectionCount == 1)
        loop.forgetConnections()
        for _ in 0..<2 { _ = try await loop.send(request(server)) }
        #expect(server.connectionCount == 2)
    }

    @Test func `The loop keeps only a few of many idle connections`() async throws {
        let gates = (0..<40).map { _ in Watched(false) }
        let closed = Watched(0)
        let server = try ScriptedServer(
            scripts: gates.map { [.read, .hold($0), .write(ok), .stall, .serve { _ in closed.update { $0 += 1 } }] })
        let loop = CurlLoop()
        defer { loop.shutdown() }
        var recorders: [Recorder] = []
        for _ in gates {
            let recorder = Recorder()
            recorders.append(recorder)
            _ = loop.begin(request(server), delegate: recorder)
            // The n-th exchange has the n-th connection.
            try await eventually("its connection") { server.connectionCount == recorders.count }
        }
        for (gate, recorder) in zip(gates, recorders) {
            gate.update { $0 = true }
            _ = try await recorder.end()
        }
        try await closed.wait(for: "connections that were closed") { $0 >= 24 }
        #expect(closed.read { $0 } == 24)
    }

    @Test func `A loop without exchanges closes its connections after a while`() async throws {
        let closed = Watched(false)
        let server = try ScriptedServer([.read, .write(ok), .stall, .serve { _ in closed.update { $0 = true } }])
        let loop = CurlLoop(idleSeconds: 1)
        defer { loop.shutdown() }
        _ = try await loop.send(request(server))
        #expect(server.connectionCount == 1)
        try await closed.wait(for: "the end of the connection") { $0 }
    }

    @Test func `Forgetting connections does not disturb running exchanges`() async throws {
        let gate = Watched(false)
        let server = try ScriptedServer(
            [.read, .write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .hold(gate), .write("llo"), .stall],
            [.read, .write(ok), .stall])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let stream = try await loop.stream(request(server))
        loop.forgetConnections()
        _ = try await loop.send(request(server))
        gate.update { $0 = true }
        var body: [UInt8] = []
        while let bytes = try await stream.next() { body += bytes }
        #expect(body == Array("hello".utf8))
        #expect(server.connectionCount == 2)
    }

    @Test func `An idle loop does not wake up`() async throws {
        let server = try ScriptedServer([.read, .write(ok), .stall])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        _ = try await loop.send(request(server))
        let thread = Watched<Int32>(0)
        loop.perform { thread.update { $0 = Int32(syscallGetThreadID()) } }
        try await thread.wait(for: "the loop's thread") { $0 != 0 }
        let look = { ThreadActivity.read(at: thread.read { $0 }) }
        // On a busy machine the loop may take a while until it sleeps.
        try await eventually("the loop's sleep") {
            let before = look()
            try await passTime(.milliseconds(500), because: "That it does not run is seen only over time.")
            return before?.isAsleep == true && look() == before
        }
        let before = look()
        try await passTime(.seconds(3), because: "That it does not wake up is seen only over time.")
        #expect(look() == before)
    }
}

private func syscallGetThreadID() -> Int {
    // The link names the calling thread: <pid>/task/<tid>.
    var buffer = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    return Int(path.split(separator: "/").last ?? "") ?? 0
}
