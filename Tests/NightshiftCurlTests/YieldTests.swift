import NightshiftAPI
import NightshiftCurl
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct YieldTests {
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// A regression test: the upload kept the number of the closed socket, which another connection may get.
    @Test func `An upload that is sent again on another connection joins its route again`() async throws {
        let (size, hasYielded) = (4 << 20, Watched(false))
        let server = try ScriptedServer(
            [.read, .write(ok), .read, .readBody(1 << 20), .hold(hasYielded), .reset],
            [.read, .readBody(size), .write(ok)])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        var request = CurlRequest(url: server.url())
        request.proxy = ""
        #expect(try await loop.send(request).head.status == 200)

        let shown = Watched<[YieldStatus?]>([])
        var upload = CurlRequest(
            url: server.url(), method: "PUT", body: .bytes([UInt8](repeating: 0x78, count: size)))
        upload.proxy = ""
        upload.mayRepeatBody = true
        upload.yields = CurlYield(route: "route") { status in
            shown.update { $0.append(status) }
            if status != nil { hasYielded.update { $0 = true } }
        }
        #expect(try await loop.send(upload).head.status == 200)
        #expect(server.connectionCount == 2)
        let statuses = shown.read { $0 }
        // It leaves its route when its first connection closes, when the response begins, and at its end.
        #expect(statuses.count { $0 == nil } == 3, "\(statuses)")
        #expect(statuses.first.flatMap(\.self) != nil)
    }

    /// A regression test: exchanges that had ended stayed members, and had a share of the window.
    @Test func `A download that has ended leaves its route`() async throws {
        let hasYielded = Watched(false)
        let server = try ScriptedServer([
            .read, .write("HTTP/1.1 200 OK\r\n\r\n"),
            .serve { connection in
                let bytes = [UInt8](repeating: 0x78, count: 4_096)
                while !hasYielded.read({ $0 }), ScriptedServer.send(bytes, on: connection) {}
            },
        ])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let shown = Watched<[YieldStatus?]>([])
        var request = CurlRequest(url: server.url())
        request.proxy = ""
        request.rateLimit = 4 << 20
        request.yields = CurlYield(route: "route") { status in
            shown.update { $0.append(status) }
            if status != nil { hasYielded.update { $0 = true } }
        }
        #expect(try await loop.send(request, bodyLimit: 64 << 20).head.status == 200)
        let statuses = shown.read { $0 }
        #expect(statuses.count { $0 == nil } == 1 && statuses.last == .some(nil), "\(statuses)")
    }
}
