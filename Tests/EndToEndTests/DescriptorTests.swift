import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of a service with a low limit on open file descriptors.
@Suite(.timeLimit(.minutes(20))) struct DescriptorTests {
    private static func limited(to count: Int) -> [String] { ["sh", "-c", "ulimit -n \(count) && exec \"$@\"", "sh"] }

    @Test("A service without free descriptors delays transfers, blames no host and keeps responding")
    func shortage() async throws {
        let service = try Service()
        // Six hosts are needed, since each has only a few connections.
        let origins = try (0..<6).map { _ in try OriginServer() }
        try await service.start(under: Self.limited(to: 128))
        let directory = service.scratch.path("to")
        let contents = (0..<36).map { Content.seeded(size: 1 << 20, seed: UInt64($0)) }
        var requests: [TaskRequest] = []
        for (number, content) in contents.enumerated() {
            let origin = origins[number % origins.count]
            origin.serve("/\(number)", Resource(content: content, behaviours: [.throttle(bytesPerSecond: 512 << 10)]))
            requests.append(.download(origin.url("/\(number)"), to: directory, named: "\(number)"))
        }
        let ids = try await service.api.enqueue(requests)
        for id in ids { #expect(try await service.waitForEnd(id, within: .seconds(120)).state == .completed) }
        for (number, content) in contents.enumerated() {
            #expect(try content.firstMismatch(inFileAt: "\(directory)/\(number)") == nil)
        }
        #expect(service.process?.exit == nil)
        // The service ran out of descriptors and blamed no host for that.
        #expect(service.log.contains("Too many open files") || service.log.contains("no file descriptors left"))
        #expect(!service.log.contains("code=cannotConnect"))
    }

    @Test(.enabled(if: Machine.canTrace, "needs strace and the right to trace"))
    func `An exchange that gets no socket reports missing descriptors, not a failed connection`() async throws {
        let service = try Service()
        let origins = try (0..<12).map { _ in try OriginServer() }
        for origin in origins { origin.serve("/file", .text("whole")) }
        try await service.start()
        // Every second call fails.
        let tracer = try await service.inject("socket", "error=EMFILE:when=1+2")
        let ids = try await service.api.enqueue(
            origins.indices.map { .download(origins[$0].url("/file"), to: service.scratch.path, named: "\($0)") })
        for id in ids { #expect(try await service.waitForEnd(id).state == .completed) }
        try await service.kill()
        _ = try await tracer.waitForExit()
        #expect(service.log.contains("no file descriptors left"))
        #expect(!service.log.contains("code=cannotConnect"))
    }

    @Test func `A service with too few descriptors to work names the limit to raise`() async throws {
        let service = try Service()
        let process = try service.spawn(under: Self.limited(to: 100))
        #expect(try await process.waitForExit() == .code(2))
        #expect(service.log.contains("100 files") && service.log.contains("ulimit -Hn"), "\(service.log)")
    }
}
