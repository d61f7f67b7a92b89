import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of file systems that do not respond.
@Suite(
    .serialized, .timeLimit(.minutes(20)),
    .enabled(if: HangingFileSystem.isPossible, "needs root, FUSE, a compiler for C and libfuse3-dev"))
struct HangingDestinationTests {
    private typealias Call = HangingFileSystem.Call

    @Test(
        "B1: A hanging destination blocks only its own task, which reports that and later continues",
        arguments: HangingFileSystem.Call.allCases)
    func story(_ call: HangingFileSystem.Call) async throws {
        let (service, origin, system) = (try Service(), try OriginServer(), try await HangingFileSystem())
        try await service.start()
        let (content, other) = (Content.seeded(size: 3 << 20, seed: 1), Content.seeded(size: 1 << 20, seed: 2))
        origin.serve("/hanging", Resource(content: content))
        origin.serve("/other", Resource(content: other))
        try system.hang(call)
        let id = try await service.api.enqueue(
            .download(origin.url("/hanging"), to: system.path + "/to", named: "file"))
        // The call hangs until the end of this loop. A response must therefore not wait for it.
        for number in 0..<8 {
            let next = try await service.api.enqueue(
                .download(origin.url("/other"), to: service.scratch.path("to"), named: "\(number)"))
            let end = try await service.waitForEnd(next, within: .seconds(20))
            #expect(end.state == .completed)
            _ = try await service.api.status()
            _ = try await service.api.tasks()
            _ = try await service.api.task(id)
        }
        try await service.wait(id, for: "a wait for its destination", within: .seconds(20)) {
            $0.wait?.reason == .destinationSilent
        }
        let why = try await service.api.why(id)
        #expect(why.sentence.contains(system.path), "\(why.sentence)")
        #expect(why.task.wait?.since != nil)
        let doctor = try await service.cli(["doctor"])
        #expect(doctor.output.contains(system.path), "\(doctor.output)")
        if why.task.state != .finishing {
            // The test cancels this second transfer.
            let unwanted = try await service.api.enqueue(
                .download(origin.url("/hanging"), to: system.path + "/to", named: "unwanted"))
            let cancelled: TaskStatus = try await service.api.post("/v1/tasks/\(unwanted)/cancel", CancelRequest())
            #expect(cancelled.state == .cancelled)
        }
        system.answer(call)
        let end = try await service.waitForEnd(id)
        #expect(end.state == .completed, "\(end)")
        #expect(try content.firstMismatch(inFileAt: end.file ?? "") == nil)
        try await eventually("a doctor without complaints") {
            try await service.api.status().silentFileSystems == nil
        }
    }

    @Test(
        "B1: Cancelling a task whose destination hangs returns at once",
        arguments: [Call.getattr, .open, .write, .statfs])
    func cancel(_ call: HangingFileSystem.Call) async throws {
        let (service, origin, system) = (try Service(), try OriginServer(), try await HangingFileSystem())
        try await service.start()
        origin.serve("/hanging", Resource(content: .seeded(size: 3 << 20, seed: 1)))
        try system.hang(call)
        let id = try await service.api.enqueue(
            .download(origin.url("/hanging"), to: system.path + "/to", named: "file"))
        // At the task's start the service does not query a file system again that did not respond when it accepted the
        // task.
        try await service.wait(id, for: "its start") { $0.state == .running || $0.wait?.reason == .destinationSilent }
        let cancelled: TaskStatus = try await service.api.post("/v1/tasks/\(id)/cancel", CancelRequest())
        #expect(cancelled.state == .cancelled)
        system.answer(call)
        try await eventually("nothing left of it") { service.names(in: system.path + "/to").isEmpty }
    }

    @Test(
        "B1: SIGTERM ends a service while a destination hangs, and the next service starts",
        arguments: HangingFileSystem.Call.allCases)
    func stop(_ call: HangingFileSystem.Call) async throws {
        try await restart(call) { process in
            process.kill(SIGTERM)
            try await HangingFileSystem.waitForLastInstruction(of: process)
        }
    }

    @Test(
        "B1: After kill -9 while a destination hangs, the next service can use the home",
        arguments: [Call.getattr, .write, .fsync])
    func kill(_ call: HangingFileSystem.Call) async throws {
        try await restart(call) { process in
            process.kill(SIGKILL)
            try await HangingFileSystem.waitForLastInstruction(of: process)
        }
    }

    private func restart(_ call: HangingFileSystem.Call, _ end: (ChildProcess) async throws -> Void) async throws {
        let (service, origin, system) = (try Service(), try OriginServer(), try await HangingFileSystem())
        try await service.start()
        let (content, other) = (Content.seeded(size: 3 << 20, seed: 1), Content.seeded(size: 1 << 20, seed: 2))
        origin.serve("/hanging", Resource(content: content))
        origin.serve("/other", Resource(content: other))
        try system.hang(call)
        let id = try await service.api.enqueue(
            .download(origin.url("/hanging"), to: system.path + "/to", named: "file"))
        try await service.wait(id, for: "a wait for its destination", within: .seconds(20)) {
            $0.wait?.reason == .destinationSilent
        }
        let process = try #require(service.process)
        try await end(process)
        try await service.start()
        let next = try await service.api.enqueue(.download(origin.url("/other"), to: service.scratch.path("to")))
        #expect(try await service.waitForEnd(next, within: .seconds(20)).state == .completed)
        system.answer(call)
        let end = try await service.waitForEnd(id)
        #expect(end.state == .completed, "\(end)")
        #expect(try content.firstMismatch(inFileAt: end.file ?? "") == nil)
        #expect(service.names(in: system.path + "/to") == ["file"])
    }
}
