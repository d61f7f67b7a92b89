import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// A service that may have few files open at once.
@Suite(.timeLimit(.minutes(20))) struct DescriptorTests {
    private static func limited(to count: Int) -> [String] { ["sh", "-c", "ulimit -n \(count) && exec \"$@\"", "sh"] }

    @Test("A service without descriptors makes transfers wait, blames no host, and answers and lives on")
    func shortage() async throws {
        let service = try Service()
        // Of six hosts, since each has its own few connections.
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
        // There was a shortage, and nobody else was blamed for it.
        #expect(service.log.contains("Too many open files") || service.log.contains("no file descriptors left"))
        #expect(!service.log.contains("code=cannotConnect"))
    }

    @Test(.enabled(if: Machine.canTrace, "needs strace and the right to trace"))
    func `Whose socket could not be made is told it, and nobody else, however many are made beside it`() async throws {
        let service = try Service()
        let origins = try (0..<12).map { _ in try OriginServer() }
        for origin in origins { origin.serve("/file", .text("whole")) }
        try await service.start()
        // Every second one.
        let tracer = try await service.inject("socket", "error=EMFILE:when=1+2")
        let ids = try await service.api.enqueue(
            origins.indices.map { .download(origins[$0].url("/file"), to: service.scratch.path, named: "\($0)") })
        for id in ids { #expect(try await service.waitForEnd(id).state == .completed) }
        try await service.kill()
        _ = try await tracer.waitForExit()
        #expect(service.log.contains("no file descriptors left"))
        #expect(!service.log.contains("code=cannotConnect"))
    }

    @Test func `A service that could not work with so few descriptors says what to raise`() async throws {
        let service = try Service()
        let process = try service.spawn(under: Self.limited(to: 100))
        #expect(try await process.waitForExit() == .code(2))
        #expect(service.log.contains("100 files") && service.log.contains("ulimit -Hn"), "\(service.log)")
    }
}
