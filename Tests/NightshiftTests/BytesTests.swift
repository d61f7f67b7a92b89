import Foundation
import Nightshift
import TestSupport
import Testing

/// Tests of `URLSession.bytes`, which Foundation on Linux lacks, in sessions of this process.
@Suite(.timeLimit(.minutes(20))) struct BytesTests {
    private let origin: OriginServer

    init() throws {
        origin = try OriginServer()
    }

    private func address(_ path: String) -> URL { url(origin.url(path)) }

    @Test func `T1: The bytes of a response arrive completely and in order`() async throws {
        let content = SeededContent(seed: 5, size: 3_000_000)
        origin.serve("/file", .seeded(size: content.size, seed: 5))
        let (bytes, response) = try await URLSession.shared.bytes(from: address("/file"))
        #expect((response as? HTTPURLResponse)?.statusCode == 200 && response.expectedContentLength == content.size)
        var found: [UInt8] = []
        for try await byte in bytes { found.append(byte) }
        #expect(found == content.bytes(0..<content.size))
    }

    @Test func `T1: CR, LF or both end a line, and the library omits empty lines`() async throws {
        origin.serve("/lines", .text("a\r\nb\n\nc ä\rd"))
        let (bytes, _) = try await URLSession(configuration: .ephemeral).bytes(for: URLRequest(url: address("/lines")))
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["a", "b", "c ä", "d"])
    }

    @Test func `T1: A response that asks for credentials is the result unless the app answers it`() async throws {
        let resource = Resource.seeded(size: 10, seed: 1, .requireBasic(user: "u", password: "p"))
        origin.serve("/secret", resource)
        let (_, refused) = try await URLSession.shared.bytes(from: address("/secret"))
        #expect((refused as? HTTPURLResponse)?.statusCode == 401)
        let (bytes, answered) = try await URLSession.shared.bytes(from: address("/secret"), delegate: Answering())
        #expect((answered as? HTTPURLResponse)?.statusCode == 200)
        var count = 0
        for try await _ in bytes { count += 1 }
        #expect(count == 10)
    }

    @Test func `T1: An incomplete body throws an error after its bytes`() async throws {
        origin.serve("/cut", .seeded(size: 1_000, seed: 1, .cutAfter(400)))
        let (bytes, _) = try await URLSession.shared.bytes(from: address("/cut"))
        var count = 0
        await #expect(throws: URLError.self) {
            for try await _ in bytes { count += 1 }
        }
        #expect(count == 400)
    }

    @Test func `T1: Cancelling the reader of bytes ends its load`() async throws {
        origin.serve("/stalled", .seeded(size: 1_000, seed: 1, .stallAfter(10)))
        let (bytes, _) = try await URLSession.shared.bytes(from: address("/stalled"))
        let hasBegun = Watched(false)
        let reading = Task {
            for try await _ in bytes { hasBegun.update { $0 = true } }
        }
        try await hasBegun.wait(for: "a byte") { $0 }
        reading.cancel()
        let error = await #expect(throws: URLError.self) { try await reading.value }
        #expect(error?.code == .cancelled)
        let early = Task { try await URLSession.shared.bytes(from: url("http://127.0.0.1:1/")) }
        early.cancel()
        await #expect(throws: URLError.self) { _ = try await early.value }
    }

    @Test func `T7: A background session does not support bytes`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let session = AppProcess(home: "/no/such/home").session(Recorder(), identifier: "bytes")
            _ = try await session.bytes(from: url())
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("Completion handler blocks are not supported in background sessions."), "\(said)")
    }
}

private final class Answering: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
    }
}
