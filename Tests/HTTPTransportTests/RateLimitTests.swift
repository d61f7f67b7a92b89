import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Real time with generous bounds; the exact arithmetic is tested with the bucket itself.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RateLimitTests {
    private let content = SeededContent(seed: 9, size: 200_000_000)

    private func bytesPerSecond(_ file: TestFile, over seconds: Double = 2) async throws -> Double {
        // Past what the connection's beginning lets through.
        try await Task.sleep(for: .milliseconds(300))
        let (start, before) = (ContinuousClock.now, file.position.value)
        try await Task.sleep(for: .seconds(seconds))
        let time = start.duration(to: .now)
        let elapsed = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        return Double(file.position.value - before) / elapsed
    }

    @Test(arguments: [100_000, 5_000_000, 40_000_000] as [Int64])
    func anExchangeKeepsToItsRate(rate: Int64) async throws {
        let origin = try OriginServer()
        origin.serve("/file", .seeded(size: content.size, seed: content.seed))
        let file = try TestFile()
        let transport = TestTransport()
        let receiver = Receiver { _ in .file(file.sink()) }
        let handle = transport.begin(.direct(origin.url("/file"), idle: 1).with { $0.rateLimit = rate }, receiver)
        try await receiver.head()
        let measured = try await bytesPerSecond(file)
        #expect(abs(measured / Double(rate) - 1) < 0.2, "\(measured) instead of \(rate)")
        handle.setRateLimit(nil)
        #expect(try await receiver.end().outcome == .complete)
        #expect(try file.matches(content))
    }

    @Test(arguments: [nil, 50_000_000] as [Int64?])
    func aLimitThatComesBeforeTheConnectionDoesNoHarm(rate: Int64?) async throws {
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

    @Test func allExchangesShareTheCommonRateFairly() async throws {
        let origin = try OriginServer()
        origin.serve("/file", .seeded(size: content.size, seed: content.seed))
        let transport = TestTransport()
        transport.transport.setRateLimit(10_000_000)
        let files = try (0..<4).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink()) } }
        for receiver in receivers { _ = transport.begin(.direct(origin.url("/file")), receiver) }
        for receiver in receivers { try await receiver.head() }
        let rates = try await withThrowingTaskGroup(of: Double.self) { group in
            for file in files { group.addTask { try await bytesPerSecond(file, over: 3) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let sum = rates.reduce(0, +)
        #expect(abs(sum / 10_000_000 - 1) < 0.2, "\(rates)")
        for rate in rates { #expect(abs(rate / (sum / 4) - 1) < 0.25, "\(rates)") }
        transport.transport.setRateLimit(nil)
        for (file, receiver) in zip(files, receivers) {
            #expect(try await receiver.end().outcome == .complete)
            #expect(try file.matches(content))
        }
    }

    @Test func aLimitedExchangeDoesNotHoldUpOthersWithItsServer() async throws {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates()
        let server = try await WebServer.nginx(options)
        try server.publish("file", .seeded(size: content.size, seed: content.seed))
        let transport = TestTransport()
        let request = WireRequest.direct(server.url("/file"), certificates: options.certificates)
        let (slow, fast) = (try TestFile(), try TestFile())
        let slowReceiver = Receiver { _ in .file(slow.sink()) }
        let fastReceiver = Receiver { _ in .file(fast.sink()) }
        let handle = transport.begin(request.with { $0.rateLimit = 1_000_000 }, slowReceiver)
        try await slowReceiver.head()
        _ = transport.begin(request, fastReceiver)
        #expect(try await fastReceiver.end().outcome == .complete)
        #expect(try fast.matches(content))
        #expect(slowReceiver.ends.isEmpty)
        handle.setRateLimit(nil)
        #expect(try await slowReceiver.end().outcome == .complete)
        #expect(try slow.matches(content))
    }

    @Test func uploadsKeepToTheirRate() async throws {
        let origin = try OriginServer()
        origin.serve("/up", .text("thanks"))
        let content = SeededContent(seed: 9, size: 6_000_000)
        let file = try TestFile(content)
        let start = ContinuousClock.now
        let request = WireRequest.direct(origin.url("/up"), method: "PUT").sending(file, size: content.size)
        let end = try await TestTransport().end(request.with { $0.rateLimit = 2_000_000 })
        let time = start.duration(to: .now)
        #expect(end.outcome == .complete)
        #expect(time > .milliseconds(2_600) && time < .seconds(5), "\(time)")
        #expect(
            try origin.requests(for: "/up").last?.body.matches(.seeded(size: content.size, seed: content.seed)) == true)
    }
}
