import Foundation
import NightshiftCurl
import TestSupport
import Testing

/// Tests of transfer codings that a server uses although no request names them in `TE` (RFC 9112, section 7.4).
@Suite(.timeLimit(.minutes(20))) struct TransferCodingTests {
    /// "hello, hello, hello\n" as gzip.
    private static let gzip = "H4sIAAAAAAACA8tIzcnJ11HIQKK4AOdCblIUAAAA"

    /// Returns a server that sends a compressed body in one chunk and then waits.
    private static func server(_ head: String) throws -> ScriptedServer {
        let body = try #require(Data(base64Encoded: gzip))
        let chunk = Data("\(String(body.count, radix: 16))\r\n".utf8) + body + Data("\r\n0\r\n\r\n".utf8)
        return try ScriptedServer([
            .read, .write(head), .serve { _ = ScriptedServer.send(Array(chunk), on: $0) }, .stall,
        ])
    }

    private static func request(_ server: ScriptedServer) -> CurlRequest {
        var request = CurlRequest(url: server.url())
        request.proxy = ""
        request.idleTimeout = 20
        return request
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: GZIP\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,\tx-gzip \r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n gzip, chunked\r\n\r\n",
            "HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: deflate, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: br, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip;q=1, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 30\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: /\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: gzip\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func `T8: A transfer coding that was not requested ends the exchange before any byte is decoded`(
        head: String
    ) async throws {
        let server = try Self.server(head)
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let recorder = Recorder()
        _ = loop.begin(Self.request(server), delegate: recorder)
        let end = try await recorder.end()
        let heard = recorder.heard.read { $0 }
        #expect(end.code == 61)
        #expect(end.message.contains("transfer coding"))
        #expect(heard.heads.isEmpty)
        #expect(heard.body.isEmpty)
    }

    @Test(arguments: [401, 407])
    func `T8: The transport does not decode the body of a challenge that libcurl would answer`(status: Int) async throws
    {
        let server = try Self.server(
            "HTTP/1.1 \(status) No\r\nWWW-Authenticate: Basic realm=\"a\"\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
        let loop = CurlLoop()
        defer { loop.shutdown() }
        var request = Self.request(server)
        request.credential = CurlCredential(user: "a", password: "b", scheme: .any)
        let recorder = Recorder()
        _ = loop.begin(request, delegate: recorder)
        #expect(try await recorder.end().code == 61)
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: ["chunked", "Chunked", ", chunked", "chunked ,"])
    func `T4: A client receives a chunked body`(value: String) async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n")
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let response = try await loop.send(Self.request(server))
        #expect(Data(response.body) == Data(base64Encoded: Self.gzip))
    }
}
