import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the second start of a home works however the first start ended (mission row B1).
@Suite struct FirstStartTests {
    /// The calls that change files on disk, in order, up to the first response.
    private static let steps = [
        "mkdir", "openat", "pwrite64", "fdatasync",
    ]

    @Test(
        "B1: After a kill at any system call of its first start, a service can open its home",
        .enabled(if: Machine.canTrace, "needs strace and the right to trace"), .timeLimit(.minutes(30)),
        arguments: steps)
    func everyCall(call: String) async throws {
        // Each run takes a while, so later calls are sampled less densely.
        var number = 1
        while number < 200 {
            let service = try Service()
            let process = try service.spawn(under: [
                // strace runs in its own process, so that the killed process is the service.
                "strace", "--daemonize", "--follow-forks", "--quiet=all", "--output=/dev/null", "--trace=\(call)",
                "--inject=\(call):signal=SIGKILL:when=\(number)",
            ])
            let serves = try await servesOrEnds(service, process)
            if serves {
                // Because no single thread makes this many calls, the test has tried every call.
                try await service.kill()
                return
            }
            try await service.start()
            #expect(try await service.api.tasks().isEmpty, "\(call) \(number)")
            try await service.stop()
            number += max(1, number / 4)
        }
    }

    @Test("B1: After a random kill of its first start, a service can open its home", .timeLimit(.minutes(30)))
    func randomMoments() async throws {
        let seed = TestRun.number("NIGHTSHIFT_SEED") ?? UInt64.random(in: 0...UInt64.max)
        print("first starts: NIGHTSHIFT_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        for round in 0..<(TestRun.number("NIGHTSHIFT_ROUNDS") ?? 12) {
            let service = try Service()
            try service.spawn()
            try await passTime(
                .milliseconds(Int.random(in: 1...150, using: &random)), because: "a kill comes at any moment")
            try await service.kill()
            try await service.start()
            #expect(try await service.api.tasks().isEmpty, "round \(round)")
            try await service.stop()
        }
    }

    /// Returns whether the service responded before it ended.
    private func servesOrEnds(_ service: Service, _ process: ChildProcess) async throws -> Bool {
        var serves = false
        try await eventually("an answer or an end", within: .seconds(60)) {
            serves = (try? await service.api.status()) != nil
            return serves || process.exit != nil
        }
        return serves
    }
}
