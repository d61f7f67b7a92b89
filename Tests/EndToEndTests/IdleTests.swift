import Foundation
import TestSupport
import Testing

/// Tests that an idle service does not wake up.
@Suite(.timeLimit(.minutes(20))) struct IdleTests {
    /// The names of all threads, and how often each thread has slept.
    private static func sleeps(of process: Int32) -> [String: Int] {
        let folder = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        var sleeps: [String: Int] = [:]
        for thread in threads {
            let lines = (try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)) ?? ""
            let line = lines.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
            sleeps[thread] = line.flatMap { Int($0.split(separator: "\t").last ?? "") }
        }
        return sleeps
    }

    @Test func `After its work, the service does not wake up each second`() async throws {
        let service = try Service()
        try await service.start()
        let origin = try OriginServer()
        origin.serve("/file", Resource(content: .seeded(size: 100_000, seed: 1)))
        #expect(try await service.cli(["get", origin.url("/file"), "-d", service.scratch.path]).code == 0)
        let process = try #require(service.process?.pid)
        var last = Self.sleeps(of: process)
        // libdispatch would wake the process each second. Threads of finished work end after a few seconds. Beside other
        // tests, changes of mounts and networks wake the service, so a longer time without a wake-up is not certain.
        try await eventually("4 seconds without a wake-up", within: .seconds(300)) {
            try await passTime(.seconds(4), because: "An absence of wake-ups shows only over time.")
            let next = Self.sleeps(of: process)
            defer { last = next }
            return next == last
        }
        #expect(try await service.stop() == .code(0))
    }
}
