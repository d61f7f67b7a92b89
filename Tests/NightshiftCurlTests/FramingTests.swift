import Foundation
import NightshiftCurl
import TestSupport
import Testing

/// Tests of bodies whose length libcurl ignores because of a `Transfer-Encoding` that changes nothing.
@Suite(.timeLimit(.minutes(20))) struct FramingTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 300000\r\n\r\n"

    private func heard(_ script: [ScriptedServer.Step], rate: Int64? = nil) async throws -> (CurlEnd, Recorder.Heard) {
        let server = try ScriptedServer(script)
        let loop = CurlLoop()
        defer { loop.shutdown() }
        var request = CurlRequest(url: server.url())
        request.proxy = ""
        request.rateLimit = rate
        // If the transport waited for the end of the connection, this timeout would fail the request.
        request.idleTimeout = 10
        request.socketBodyBytes = 1
        let recorder = Recorder()
        _ = loop.begin(request, delegate: recorder)
        let end = try await recorder.end()
        withExtendedLifetime(server) {}
        return (end, recorder.heard.read { $0 })
    }

    @Test(arguments: [0, 100_000, 299_999])
    func `T8: A truncated identity-coded body is not complete`(count: Int) async throws {
        let (end, heard) = try await heard([.read, .write(Self.head), .writeBytes(count)])
        #expect(end.code == 18 && end.message.contains("\(300_000 - count) bytes"))
        #expect(heard.body.count == count)
    }

    @Test(arguments: [nil, 2_000_000 as Int64])
    func `T8: An identity-coded body ends with its last byte, even if the connection stalls`(rate: Int64?) async throws
    {
        let (end, heard) = try await heard([.read, .write(Self.head), .writeBytes(300_000), .stall], rate: rate)
        #expect(end.code == 0)
        #expect(heard.body.count == 300_000)
    }

    @Test func `T8: Bytes after the end of a body are not part of the body`() async throws {
        let (end, heard) = try await heard([.read, .write(Self.head), .writeBytes(400_000), .stall])
        #expect(end.code == 0)
        #expect(heard.body.count == 300_000)
    }

    @Test func `T8: An empty identity-coded body ends with its head`() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n"
        let (end, heard) = try await heard([.read, .write(head), .stall])
        #expect(end.code == 0)
        #expect(heard.heads.map(\.status) == [200] && heard.body.isEmpty)
    }

    @Test func `T8: Chunked framing takes precedence over a length`() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
        let (end, heard) = try await heard([.read, .write(head + "5\r\nhello\r\n0\r\n\r\n"), .stall])
        #expect(end.code == 0)
        #expect(heard.body == Array("hello".utf8))
    }
}
