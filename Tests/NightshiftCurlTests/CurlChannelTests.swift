import Foundation
import NightshiftCurl
import TestSupport
import Testing

/// Tests of a TLS connection for a protocol other than HTTP (R3).
@Suite(.timeLimit(.minutes(20))) struct CurlChannelTests {
    /// The events of a channel.
    private final class Recorder: CurlChannelDelegate {
        struct State {
            var isOpen = false
            var bytes: [UInt8] = []
            var pieces = 0
            var end: CurlEnd?
        }

        let state = Watched(State())

        func opened() { state.update { $0.isOpen = true } }

        func received(_ bytes: [UInt8]) {
            state.update {
                $0.bytes += bytes
                $0.pieces += 1
            }
        }

        func ended(_ end: CurlEnd) { state.update { $0.end = end } }

        func end() async throws -> CurlEnd {
            try await state.wait(for: "the end") { $0.end != nil }
            return try #require(state.read { $0.end })
        }
    }

    /// A TLS server that sends a greeting and then obeys commands: `echo` for received data, `flood`, `deaf`, `bye`.
    private final class Server: Sendable {
        let certificates: TestCertificates
        let port: Int
        private let directory: TemporaryDirectory
        private let process: ChildProcess

        init() async throws {
            certificates = try await TestCertificates()
            directory = try TemporaryDirectory()
            let output = directory.path("port")
            process = try ChildProcess(
                "python3", arguments: ["-c", Self.program, certificates.serverCertificate, certificates.serverKey],
                output: .file(output), errors: .inherit)
            try await eventually("the server's port") {
                (try? String(contentsOfFile: output, encoding: .utf8))?.hasSuffix("\n") == true
            }
            let text = try String(contentsOfFile: output, encoding: .utf8)
            port = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        private static let program = """
            import socket, ssl, sys, threading
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            context.set_alpn_protocols(["h2", "http/1.1"])
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)

            def serve(plain):
                try:
                    tls = context.wrap_socket(plain, server_side=True)
                    tls.sendall(str(tls.selected_alpn_protocol()).encode() + b"\\n")
                    while data := tls.recv(65536):
                        if data == b"bye":
                            break
                        elif data == b"deaf":
                            threading.Event().wait()
                        elif data == b"flood":
                            tls.sendall(bytes(range(256)) * 16384)
                        else:
                            tls.sendall(data)
                    tls.shutdown(socket.SHUT_RDWR)
                    tls.close()
                except OSError:
                    pass

            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """

        func request() -> CurlChannelRequest {
            CurlChannelRequest(host: "localhost", port: port, certificateAuthority: certificates.authority)
        }
    }

    private static let greeting = Array("None\n".utf8)

    @Test func `R3: Data flows both ways over verified TLS without ALPN until the peer closes`() async throws {
        let server = try await Server()
        let loop = CurlLoop()
        let recorder = Recorder()
        let channel = loop.open(server.request(), delegate: recorder)
        try await recorder.state.wait(for: "the greeting") { $0.bytes == Self.greeting }
        #expect(recorder.state.read { $0.isOpen })
        channel.resume()
        channel.send(Array("one".utf8))
        try await recorder.state.wait(for: "an echo") { $0.bytes == Self.greeting + Array("one".utf8) }
        channel.resume()
        channel.send(Array("bye".utf8))
        #expect(try await recorder.end().code == 0)
        // Nothing happens after the channel's end.
        channel.send([1])
        channel.resume()
        channel.close()
        loop.shutdown()
    }

    @Test func `R3: The channel sends early data once its connection is established`() async throws {
        let server = try await Server()
        let loop = CurlLoop()
        let recorder = Recorder()
        let channel = loop.open(server.request(), delegate: recorder)
        channel.send(Array("early".utf8))
        try await recorder.state.wait(for: "the greeting") { $0.bytes.count >= Self.greeting.count }
        channel.resume()
        try await recorder.state.wait(for: "an echo") { $0.bytes == Self.greeting + Array("early".utf8) }
        channel.close()
        #expect(try await recorder.end().wasCancelled)
        loop.shutdown()
    }

    @Test func `R3: The channel rejects a certificate that the authority has not signed`() async throws {
        let server = try await Server()
        let other = try await TestCertificates()
        let loop = CurlLoop()
        for (host, authority) in [
            ("localhost", other.authority), ("127.0.0.2", server.certificates.authority), ("localhost", nil),
        ] {
            let recorder = Recorder()
            let request = CurlChannelRequest(host: host, port: server.port, certificateAuthority: authority)
            _ = loop.open(request, delegate: recorder)
            let end = try await recorder.end()
            #expect(end.code != 0 && !end.message.isEmpty && !recorder.state.read { $0.isOpen }, "\(host)")
        }
        loop.shutdown()
    }

    @Test func `R3: The channel reads more data only after the last piece was accepted`() async throws {
        let server = try await Server()
        let loop = CurlLoop()
        let recorder = Recorder()
        let channel = loop.open(server.request(), delegate: recorder)
        try await recorder.state.wait(for: "the greeting") { $0.pieces == 1 }
        channel.send(Array("flood".utf8))
        let size = Self.greeting.count + 256 * 16_384
        var taken = 1
        while recorder.state.read({ $0.bytes.count }) < size {
            #expect(recorder.state.read { $0.pieces } == taken)
            channel.resume()
            taken += 1
            let wanted = taken
            try await recorder.state.wait(for: "a piece") { $0.pieces >= wanted }
        }
        let flood = recorder.state.read { Array($0.bytes.dropFirst(Self.greeting.count)) }
        #expect(flood.count == 256 * 16_384 && flood.indices.allSatisfy { flood[$0] == UInt8($0 & 255) })
        channel.close()
        loop.shutdown()
    }

    @Test func `R3: The channel disconnects a peer that does not read, so that memory stays bounded`() async throws {
        let server = try await Server()
        let loop = CurlLoop()
        let recorder = Recorder()
        let channel = loop.open(server.request(), delegate: recorder)
        try await recorder.state.wait(for: "the greeting") { $0.pieces == 1 }
        channel.send(Array("deaf".utf8))
        let piece = [UInt8](repeating: 7, count: 65_536)
        // The kernel's buffers hold some megabytes before data waits here.
        for _ in 0..<1_000 where recorder.state.read({ $0.end == nil }) { channel.send(piece) }
        #expect(try await recorder.end().code != 0)
        loop.shutdown()
    }

    @Test func `R3: An unreachable port and the shutdown of the loop both end the channel`() async throws {
        let loop = CurlLoop()
        let nobody = Recorder()
        _ = loop.open(CurlChannelRequest(host: "127.0.0.1", port: 1), delegate: nobody)
        #expect(try await nobody.end().code != 0)
        let server = try await Server()
        let recorder = Recorder()
        _ = loop.open(server.request(), delegate: recorder)
        try await recorder.state.wait(for: "the greeting") { $0.pieces == 1 }
        loop.shutdown()
        #expect(try await recorder.end().wasCancelled)
    }
}
