import Foundation
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@testable import HTTPTransport

/// Tests of servers that offer HTTP/2 but require HTTP/1.1 (RFC 9113, section 7).
@Suite(.timeLimit(.minutes(20))) struct HTTPVersionTests {
    /// The ways to refuse a request over HTTP/2.
    enum Refusal: String, Sendable, CaseIterable {
        /// A server that resets the request's stream.
        case stream
        /// A server that closes the connection.
        case connection
    }

    /// A TLS server that refuses each request over HTTP/2 with `HTTP_1_1_REQUIRED`, answers over HTTP/1.1, and records
    /// the versions of the requests.
    private final class Server: Sendable {
        let certificates: TestCertificates
        let port: Int
        private let directory: TemporaryDirectory
        private let process: ChildProcess

        init(_ refusal: Refusal) async throws {
            certificates = try await TestCertificates()
            directory = try TemporaryDirectory()
            let output = directory.path("output")
            let arguments = [
                "-c", Self.program, certificates.serverCertificate, certificates.serverKey, refusal.rawValue,
            ]
            process = try ChildProcess("python3", arguments: arguments, output: .file(output), errors: .inherit)
            try await eventually("the server's port") {
                (try? String(contentsOfFile: output, encoding: .utf8))?.hasSuffix("\n") == true
            }
            let text = try String(contentsOfFile: output, encoding: .utf8)
            port = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        /// Returns the versions of all requests so far.
        func versions() throws -> [String] {
            try String(contentsOfFile: directory.path("output"), encoding: .utf8).split(separator: "\n").dropFirst()
                .map(String.init)
        }

        func request(_ method: String = "GET") -> WireRequest {
            .direct("https://localhost:\(port)/file", method: method, certificates: certificates)
        }

        private static let program = """
            import socket, ssl, struct, sys, threading
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            context.set_alpn_protocols(["h2", "http/1.1"])
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)

            def frame(kind, flags, stream, payload=b""):
                return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

            def read(tls, count):
                data = b""
                while len(data) < count:
                    more = tls.recv(count - len(data))
                    if not more:
                        raise OSError("closed")
                    data += more
                return data

            def http2(tls):
                read(tls, 24)
                tls.sendall(frame(4, 0, 0))
                while True:
                    head = read(tls, 9)
                    kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                    read(tls, int.from_bytes(head[:3], "big"))
                    if kind == 4 and not flags & 1:
                        tls.sendall(frame(4, 1, 0))
                    elif kind == 1:
                        print("2", flush=True)
                        if sys.argv[3] == "stream":
                            tls.sendall(frame(3, 0, stream, struct.pack(">I", 13)))
                        else:
                            tls.sendall(frame(7, 0, 0, struct.pack(">II", 0, 13)))
                            tls.shutdown(socket.SHUT_RDWR)
                            return

            def http1(tls):
                while True:
                    head = b""
                    while not head.endswith(b"\\r\\n\\r\\n"):
                        head += read(tls, 1)
                    print("1.1", flush=True)
                    body = b"" if head.startswith(b"HEAD") else b"hello"
                    tls.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\n" + body)

            def serve(plain):
                try:
                    tls = context.wrap_socket(plain, server_side=True)
                    (http2 if tls.selected_alpn_protocol() == "h2" else http1)(tls)
                except OSError:
                    pass

            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """
    }

    @Test(arguments: Refusal.allCases, ["GET", "HEAD"])
    func `T4: Requests use HTTP/1.1 after a server has required it once`(
        refusal: Refusal, method: String
    ) async throws {
        let server = try await Server(refusal)
        let transport = TestTransport()
        for _ in 0..<3 {
            let end = try await transport.end(server.request(method))
            #expect(end.outcome == .complete && end.head?.httpVersion == "1.1")
            #expect(end.body == Array((method == "HEAD" ? "" : "hello").utf8))
        }
        #expect(try server.versions() == ["2", "1.1", "1.1", "1.1"])
    }

    @Test func `T4: Origins that require HTTP/1.1 are listed up to a limit, and share no connections`() {
        var habits = OriginHabits()
        for number in 0..<1_000 { habits.recordHTTP1("https://\(number)") }
        #expect(habits.oldVersions.count == OriginHabits.maximumOrigins)
        #expect(habits.wantsHTTP1("https://999") && !habits.wantsHTTP1("https://0"))
        var placement = LoopPlacement(loops: 1)
        let small = LoopPlacement.Request(origin: "https://a", isSecure: true, mayShare: true)
        for _ in 0..<OriginHabits.habit { placement.end(small, on: placement.begin(small), bytes: 1) }
        #expect(placement.begin(small) == LoopPlacement.sharing)
        placement.recordHTTP1("https://a")
        #expect(placement.begin(small) == 0)
    }
}
