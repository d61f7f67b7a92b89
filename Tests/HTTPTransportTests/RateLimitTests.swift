import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of rate limits in real time, measured with ``RateWindows``.
@Suite(.serialized, .timeLimit(.minutes(20))) struct RateLimitTests {
    private let content = SeededContent(seed: 9, size: 200_000_000)

    @Test(arguments: [100_000, 3_000_000, 12_000_000] as [Int64])
    func `An exchange keeps to its rate limit`(rate: Int64) async throws {
        let origin = try OriginServer()
        origin.serve("/file", .seeded(size: content.size, seed: content.seed))
        let file = try TestFile()
        let transport = TestTransport()
        let receiver = Receiver { _ in .file(file.sink()) }
        let handle = transport.begin(.direct(origin.url("/file"), idle: 3).with { $0.rateLimit = rate }, receiver)
        try await receiver.head()
        try await RateWindows(limit: Double(rate)) { [file.position.value] }.expectTheLimit()
        handle.setRateLimit(nil)
        #expect(try await receiver.end().outcome == .complete)
        #expect(try file.matches(content))
    }

    @Test(arguments: [nil, 50_000_000] as [Int64?])
    func `A rate limit that is set before the connection exists does not disturb the download`(rate: Int64?)
        async throws
    {
        let origin = try OriginServer()
        let small = SeededContent(seed: 9, size: 3_000_000)
        origin.serve("/file", .seeded(size: small.size, seed: small.seed))
        let transport = TestTransport()
        for _ in 0..<20 {
            let file = try TestFile()
            let receiver = Receiver { _ in .file(file.sink()) }
            transport.begin(.direct(origin.url("/file")), receiver).setRateLimit(rate)
            #expect(try await receiver.end().outcome == .complete)
            #expect(try file.matches(small))
        }
    }

    @Test func `Concurrent exchanges share the common rate limit fairly`() async throws {
        let origin = try OriginServer()
        origin.serve("/file", .seeded(size: content.size, seed: content.seed))
        let transport = TestTransport()
        transport.transport.setRateLimit(10_000_000)
        let files = try (0..<4).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink()) } }
        for receiver in receivers { _ = transport.begin(.direct(origin.url("/file")), receiver) }
        for receiver in receivers { try await receiver.head() }
        try await RateWindows(limit: 10_000_000) { files.map(\.position.value) }.expectTheLimit()
        transport.transport.setRateLimit(nil)
        for (file, receiver) in zip(files, receivers) {
            #expect(try await receiver.end().outcome == .complete)
            #expect(try file.matches(content))
        }
    }

    @Test func `A rate-limited exchange does not delay others with the same server`() async throws {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates()
        let server = try await WebServer.nginx(options)
        try server.publish("file", .seeded(size: content.size, seed: content.seed))
        let transport = TestTransport()
        let request = WireRequest.direct(server.url("/file"), certificates: options.certificates)
        let (slow, fast) = (try TestFile(), try TestFile())
        let slowReceiver = Receiver { _ in .file(slow.sink()) }
        let fastReceiver = Receiver { _ in .file(fast.sink()) }
        let handle = transport.begin(request.with { $0.rateLimit = 100_000 }, slowReceiver)
        try await slowReceiver.head()
        _ = transport.begin(request, fastReceiver)
        #expect(try await fastReceiver.end().outcome == .complete)
        #expect(try fast.matches(content))
        #expect(slowReceiver.ends.isEmpty)
        handle.setRateLimit(nil)
        #expect(try await slowReceiver.end().outcome == .complete)
        #expect(try slow.matches(content))
    }

    @Test func `An upload without its own limit keeps to the common rate limit`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let content = SeededContent(seed: 9, size: 3_000_000)
        let file = try TestFile(content)
        let transport = TestTransport()
        transport.transport.setRateLimit(2_000_000)
        let start = ContinuousClock.now
        let request = WireRequest.direct(origin.url("/up"), method: "PUT").sending(file, size: content.size)
        #expect(try await transport.end(request).outcome == .complete)
        // The least duration excludes the amount that the limit allows at once, which is a quarter of a second.
        #expect(start.duration(to: .now) > .milliseconds(1_100))
        #expect(
            try origin.requests(for: "/up").last?.body.matches(.seeded(size: content.size, seed: content.seed)) == true)
    }

    @Test func `An upload keeps to its own rate limit`() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let content = SeededContent(seed: 9, size: 60_000_000)
        let file = try TestFile(content)
        let request = WireRequest.direct(origin.url("/up"), method: "PUT").sending(file, size: content.size)
        let (transport, receiver) = (TestTransport(), Receiver())
        let handle = transport.begin(request.with { $0.rateLimit = 2_000_000 }, receiver)
        try await RateWindows(limit: 2_000_000) { [request.body?.meter.value ?? 0] }.expectTheLimit()
        handle.setRateLimit(nil)
        #expect(try await receiver.end().outcome == .complete)
        #expect(
            try origin.requests(for: "/up").last?.body.matches(.seeded(size: content.size, seed: content.seed)) == true)
    }
}
