import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of six hosts that send two bytes a second and a healthy host, with the real programs (mission row T2).
@Suite(.timeLimit(.minutes(20))) struct SlowHostTests {
    @Test("T2: A healthy host's tasks complete beside 60 tasks of hosts that send two bytes a second")
    func sixDrippingHosts() async throws {
        let (service, healthy) = (try Service(), try OriginServer())
        let slow = try (0..<6).map { _ in try OriginServer() }
        try await service.start()
        var drips: [TaskID] = []
        for (host, origin) in slow.enumerated() {
            origin.serve(
                "/file", Resource(content: .seeded(size: 1 << 20, seed: 1), behaviours: [.slowDrip(bytesPerSecond: 2)]))
            for number in 0..<10 {
                drips.append(
                    try await service.api.enqueue(
                        .download(origin.url("/file"), to: service.scratch.path("slow-\(host)-\(number)"))))
            }
        }
        healthy.serve("/file", Resource(content: .seeded(size: 100_000, seed: 2)))
        var tasks: [TaskID] = []
        for number in 0..<6 {
            tasks.append(
                try await service.api.enqueue(
                    .download(healthy.url("/file"), to: service.scratch.path("healthy-\(number)"))))
        }
        for task in tasks { #expect(try await service.waitForEnd(task).state == .completed) }
        // The slow transfers have lost no bytes, and none of them has failed.
        for task in drips { #expect(try await service.api.task(task).state.isTerminal == false) }
    }
}
