import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of bodies over TLS. Their bytes are gathered in memory before they are written.
@Suite(.timeLimit(.minutes(20))) struct GatheredBodyTests {
    private static let content = SeededContent(seed: 6, size: 30_000_000)
    private let server: WebServer
    private let proxy: ChaosProxy
    private let transport = TestTransport()

    init() async throws {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates()
        server = try await WebServer.nginx(options)
        try server.publish("file", .seeded(size: Self.content.size, seed: Self.content.seed))
        proxy = try ChaosProxy(to: server.port)
    }

    private func request() -> WireRequest {
        .direct("https://localhost:\(proxy.port)/file", certificates: server.certificates)
    }

    /// Returns the least number of body bytes among the bytes of a connection. Others belong to the handshake and to a
    /// record that is not complete, and less than a hundredth to the framing of TLS and HTTP/2.
    private static func bodyBytes(of bytes: Int64) -> Int64 { bytes - bytes / 100 - 40_000 }

    /// Returns whether the file contains as many bytes of the content as its position says.
    private func isPrefix(_ file: TestFile) throws -> Bool {
        let bytes = try fileBytes(file.path)
        return Int64(bytes.count) == file.position.value && bytes == Self.content.bytes(0..<Int64(bytes.count))
    }

    @Test(arguments: [700_000, 900_000, 1_900_000] as [Int64])
    func `Bytes are written when no more arrive, although the exchange continues`(wanted: Int64) async throws {
        // The whole file takes 100 s, so it is not complete before this test limits the proxy, also on a busy machine.
        proxy.change { $0.bytesPerSecond = 300_000 }
        let file = try TestFile()
        let receiver = Receiver { _ in .file(file.sink(length: Self.content.size)) }
        let handle = transport.begin(request(), receiver)
        try await proxy.wait(for: "\(wanted) bytes") { $0.bytesDown >= wanted }
        // On a busy machine, more bytes than wanted have passed.
        let arrived = Self.bodyBytes(of: proxy.totals.bytesDown)
        // The proxy delivers what it has, and then nearly nothing.
        proxy.change { $0.bytesPerSecond = 1 }
        try await eventually("the bytes in the file") { file.position.value >= arrived }
        // More bytes may arrive between the look at the file and the look at the position.
        let bytes = try fileBytes(file.path)
        #expect(Int64(bytes.count) >= arrived && bytes == Self.content.bytes(0..<Int64(bytes.count)))
        handle.cancel()
        #expect(try await receiver.end().outcome == .cancelled)
        #expect(try isPrefix(file))
    }

    @Test func `Bytes that were received before the end of an exchange are written`() async throws {
        let file = try TestFile()
        let receiver = Receiver { _ in .file(file.sink(length: Self.content.size)) }
        proxy.change { $0.firstCut = 5_000_000 }
        _ = transport.begin(request(), receiver)
        let end = try await receiver.end()
        #expect(end.failure != nil && end.receivedBytes == file.position.value)
        // A reset discards the bytes that were not read yet.
        let totals = proxy.totals
        #expect(end.receivedBytes >= Self.bodyBytes(of: totals.bytesDown - totals.bytesCutOff))
        #expect(try isPrefix(file))
    }

    @Test func `No byte is written from the end of a sink on`() async throws {
        let file = try TestFile()
        let receiver = Receiver { _ in
            var sink = file.sink(length: Self.content.size)
            sink.end = ByteMeter(500_000)
            return .file(sink)
        }
        #expect(try await transport.end(request(), receiver).outcome == .complete)
        #expect(file.position.value == 500_000)
        #expect(try isPrefix(file))
    }

    @Test func `An exchange pauses at the write ceiling, and continues after it`() async throws {
        let file = try TestFile(ceiling: 300_000)
        let receiver = Receiver { _ in .file(file.sink(length: Self.content.size)) }
        let handle = transport.begin(request(), receiver)
        for ceiling in [300_000, 300_001, 1_000_000, Int64.max] {
            file.ceiling.value = ceiling
            handle.resumeWriting()
            let most = min(ceiling, Self.content.size)
            try await eventually("\(most) bytes") { file.position.value == most }
            #expect(try isPrefix(file))
        }
        #expect(try await receiver.end().outcome == .complete)
    }

    @Test func `A write that fails ends the exchange`() async throws {
        let file = try TestFile()
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let receiver = Receiver { _ in
            var sink = file.sink(length: Self.content.size)
            sink.descriptor = descriptor
            return .file(sink)
        }
        let end = try await transport.end(request(), receiver)
        #expect(end.failure?.code == .inputOutput && file.position.value == 0)
    }
}
