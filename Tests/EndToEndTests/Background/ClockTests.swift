import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of clocks that jump (L4, L6, T8).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ClockTests {
    @Test(.enabled(if: ClockTests.fakeTime != nil, "needs Debian's package faketime"))
    func `L4: Setting the wall clock does not shorten background time`() async throws {
        let service = try Service()
        let wall = service.scratch.path("wall")
        try Data("+0\n".utf8).write(to: URL(filePath: wall))
        try await service.start(under: [
            "env", "LD_PRELOAD=\(try #require(Self.fakeTime))", "FAKETIME_TIMESTAMP_FILE=\(wall)",
            "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1",
        ])
        let start = try await service.api.status().startedAt
        let gate = service.scratch.path("gate")
        let run = try service.startCLI(
            ["task", "run", "--name", "work", "--", "sh", "-c", "while [ ! -e \(gate) ]; do sleep 0.05; done"],
            output: service.scratch.path("run"))
        func work() async throws -> AppStatus? {
            let apps: AppList = try await service.api.get("/v1/apps")
            return apps.apps.first { $0.background.tasks.map(\.name) == ["work"] }
        }
        try await eventually("the command") { try await work() != nil }
        let before = try #require(try await work()?.background.remaining)
        let since = ContinuousClock.now
        // libfaketime subtracts the jump from the deadlines of timers as well, and the kernel refuses one before the boot.
        let uptime = try #require(KernelFile.text("/proc/uptime")?.split(separator: ".").first.flatMap { Int($0) })
        let seconds = min(36_000, uptime / 2)
        try #require(seconds > 120, "The machine has just started.")
        for jump in ["+\(seconds)", "-\(seconds)"] {
            try Data("\(jump)\n".utf8).write(to: URL(filePath: wall), options: .atomic)
            // This shows that the service now uses the changed time.
            let id = try await service.api.enqueue(
                .download("http://127.0.0.1:1/", to: service.scratch.path("to")))
            let said = try await service.api.task(id).createdAt
            #expect(abs(said.timeIntervalSince(start)) > Double(seconds) * 0.8, "\(said)")
            let left = try #require(try await work()?.background.remaining)
            let passed = Double((ContinuousClock.now - since).components.seconds)
            #expect(left <= before && left > before - passed - 60, "\(before) s, \(passed) s later \(left) s")
        }
        try Data().write(to: URL(filePath: gate))
        #expect(try await run.waitForExit() == .code(0))
    }

    @Test(.enabled(if: Machine.canShiftBootTime, "needs root and time namespaces"))
    func `L6: A jump of boot time, as after a long sleep, opens a window that became due`() async throws {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        origin.serve("/file", Resource(content: Content.seeded(size: 10_000, seed: 6)))
        try await service.start()
        try await service.device(set: ["power": "battery", "battery": "90", "idle": "yes"])
        try await service.doze(.dozing)
        var request = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        request.isDiscretionary = true
        request.resourceTimeout = 7_200
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "doze") { $0.wait?.reason == .doze }
        let until = try #require(try await service.device().doze.until)
        try await service.kill()
        // The jump is shorter than the time until the window. Doze continues, and the window opens that much sooner.
        try await service.start(under: Machine.bootTime(shiftedBy: 600))
        #expect(try await service.device().doze.phase == .dozing)
        let nearer = try #require(try await service.device().doze.until)
        #expect(abs(until.timeIntervalSince(nearer) - 600) < 60, "\(until), then \(nearer)")
        #expect(try await service.api.task(id).state == .waiting)
        try await service.kill()
        try await service.start(under: Machine.bootTime(shiftedBy: 1_000))
        #expect(try await service.waitForEnd(id).state == .completed)
        let journal = try await service.cli(["journal", "--since", "all"]).output
        #expect(journal.contains(WindowReason.maintenance.sentence), "\(journal)")
    }

    @Test(.enabled(if: Machine.canShiftBootTime, "needs root and time namespaces"))
    func `T3: A blocked task fails when boot time jumps past its resource timeout, and not earlier`()
        async throws
    {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        origin.serve("/file", Resource(content: Content.seeded(size: 10_000, seed: 7)))
        try await service.start()
        try await service.device(set: ["power": "battery"])
        var request = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        request.requiresExternalPower = true
        request.resourceTimeout = 3_600
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "power") { $0.wait?.reason == .externalPower }
        try await service.kill()
        try await service.start(under: Machine.bootTime(shiftedBy: 3_000))
        #expect(try await service.wait(id, for: "power") { $0.wait?.reason == .externalPower }.state == .waiting)
        try await service.kill()
        try await service.start(under: Machine.bootTime(shiftedBy: 4_000))
        let task = try await service.waitForEnd(id)
        #expect(task.state == .failed && task.error?.code == .timedOut)
        #expect(origin.requests.isEmpty)
    }

    private static let fakeTime: String? = {
        let folder = "/usr/lib"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return (names.map { "\(folder)/\($0)/faketime/libfaketime.so.1" } + ["\(folder)/faketime/libfaketime.so.1"])
            .first { FileManager.default.fileExists(atPath: $0) }
    }()
}
