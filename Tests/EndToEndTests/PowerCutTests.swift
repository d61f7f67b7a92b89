import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of power cuts: the machine loses bytes that were not synced, and its next boot has another ID.
@Suite(.serialized) struct PowerCutTests {
    private static let rounds = Int(TestRun.number("NIGHTSHIFT_POWER_CUTS") ?? 10)

    @Test(
        "T2 B2: Random power cuts lose no accepted task, completed file or recorded byte",
        .enabled(if: Machine.hasLoopDevices, "needs root, mkfs.ext4 and a free loop device"),
        .enabled(if: Machine.canShiftBootTime, "needs time namespaces"), .timeLimit(.minutes(20)))
    func powerCuts() async throws {
        let seed = TestRun.number("NIGHTSHIFT_SEED") ?? UInt64.random(in: 0...999_999_999)
        print("PowerCutTests: NIGHTSHIFT_SEED=\(seed)")
        let disk = try await Mount.ext4(megabytes: 4096)
        var world = try PowerCutWorld(disk: disk, seed: seed)
        for round in 0..<Self.rounds { try await world.live(boot: round) }
        try await world.finish(boot: Self.rounds)
    }
}

/// A machine that is switched off and on, with one service on its disk.
private struct PowerCutWorld {
    let disk: Mount
    let service: Service
    let origin: OriginServer
    let seed: UInt64
    var random: SplitMix64
    var accepted: [TaskID: Content] = [:]
    /// Tasks that the service reported as complete, with the paths of their files.
    var announced: [TaskID: String] = [:]
    var served = 0

    init(disk: Mount, seed: UInt64) throws {
        self.disk = disk
        self.seed = seed
        service = try Service(home: disk.path + "/home")
        origin = try OriginServer(sendBuffer: 65_536)
        random = SplitMix64(seed: seed)
    }

    mutating func live(boot: Int) async throws {
        try await start(boot: boot)
        try await checkClaims()
        try await enqueue()
        let end = ContinuousClock.now + .milliseconds(Int.random(in: 100...2_500, using: &random))
        while ContinuousClock.now < end {
            try await note()
            try await passTime(
                until: min(end, .now + .milliseconds(20)),
                because: "The cut comes at a random moment and not with an event.")
        }
        try disk.cutPower()
        try await service.kill()
        try await disk.unmount()
        try await disk.mount()
        try checkAnnounced()
    }

    mutating func finish(boot: Int) async throws {
        try await start(boot: boot)
        for (id, content) in accepted {
            let task = try await service.waitForEnd(id, within: .seconds(60))
            let about: Comment = "seed \(seed): \(String(describing: task))"
            #expect(task.state == .completed, about)
            announced[id] = task.file
            #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil, about)
        }
        try checkAnnounced()
        #expect(service.partialFiles == [], "seed \(seed)")
        #expect(try await service.stop() == .code(0))
        try await disk.unmount()
        try await disk.mount()
        try checkAnnounced()
        print("PowerCutTests: seed \(seed): \(boot) cuts, \(accepted.count) tasks")
    }

    /// Starts the service with a boot ID for each boot. In the service's namespace, a file replaces the kernel's ID.
    /// The boot clock restarts as well. Otherwise each boot of a machine that has been up for days would add those days
    /// to the tasks' age.
    private func start(boot: Int) async throws {
        let id = "\(UUID())\n"
        let path = try service.scratch.write(id, to: "boot-id")
        let script = "mount --bind \(path) /proc/sys/kernel/random/boot_id && exec \"$@\""
        let begun = Machine.bootTime(shiftedBy: -Machine.bootSeconds)
        try await service.start(under: begun + ["unshare", "--mount", "sh", "-c", script, "sh"])
    }

    private mutating func enqueue() async throws {
        let directory = disk.path + "/downloads"
        var requests: [TaskRequest] = []
        var contents: [Content] = []
        for _ in 0..<6 {
            served += 1
            let isSmall = Bool.random(using: &random)
            let size = Int64.random(in: 0...(isSmall ? 50_000 : 10 << 20), using: &random)
            let content = Content.seeded(size: size, seed: UInt64(served % 11))
            let rate = Int64.random(in: 2 << 20...16 << 20, using: &random)
            var behaviours: [Behaviour] = isSmall ? [] : [.throttle(bytesPerSecond: rate)]
            if Int.random(in: 0...3, using: &random) == 0 { behaviours.append(.chunked()) }
            origin.serve("/\(served)", Resource(content: content, etag: "\"\(served)\"", behaviours: behaviours))
            requests.append(.download(origin.url("/\(served)"), to: directory, named: "\(served)"))
            contents.append(content)
        }
        let ids = try await service.api.enqueue(requests)
        for (id, content) in zip(ids, contents) { accepted[id] = content }
    }

    /// Records the tasks that the service reports as complete.
    private mutating func note() async throws {
        for task in try await service.api.tasks() where task.state == .completed { announced[task.id] = task.file }
    }

    /// Checks that every accepted task exists and that its recorded bytes are correct.
    private func checkClaims() async throws {
        let tasks = try await service.api.tasks()
        let known = Set(tasks.map(\.id))
        let lost = accepted.keys.filter { !known.contains($0) }
        #expect(lost == [], "seed \(seed)")
        for id in announced.keys {
            #expect(tasks.first { $0.id == id }?.state == .completed, "seed \(seed): task \(id) was complete")
        }
    }

    /// Checks that the files of tasks reported as complete exist and are complete.
    private func checkAnnounced() throws {
        for (id, file) in announced {
            let isWhole = try? accepted[id]?.firstMismatch(inFileAt: file) == nil
            #expect(isWhole == true, "seed \(seed): task \(id) was announced complete at \(file)")
        }
        // A file under its final name is complete even if the service has not reported its task yet.
        for name in service.names(in: disk.path + "/downloads") {
            guard let number = Int(name), let content = origin.resource(at: "/\(number)")?.content else {
                Issue.record("seed \(seed): nobody asked for a file \(name)")
                continue
            }
            let path = "\(disk.path)/downloads/\(name)"
            #expect(try content.firstMismatch(inFileAt: path) == nil, "seed \(seed): \(name)")
        }
    }
}
