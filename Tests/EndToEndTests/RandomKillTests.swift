import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that kill the service repeatedly while it works. `NIGHTSHIFT_SEED` repeats a run. `NIGHTSHIFT_ROUNDS` is the
/// total number of kills.
@Suite struct RandomKillTests {
    private static let worlds = 4
    private static let seed = TestRun.number("NIGHTSHIFT_SEED") ?? UInt64.random(in: 0...999_999_999)
    private static let rounds = Int(TestRun.number("NIGHTSHIFT_ROUNDS") ?? 200)

    @Test(
        "T2 B2: Random kill -9 loses no task, mixes no files and costs at most 8 MiB per kill",
        .timeLimit(.minutes(20)), arguments: 0..<worlds)
    func killedAtRandom(_ number: Int) async throws {
        let seed = Self.seed &+ UInt64(number)
        print("RandomKillTests: world \(number), NIGHTSHIFT_SEED=\(Self.seed)")
        var world = try await KillWorld(seed: seed, onOtherFileSystem: number == 1)
        try await world.live(through: Self.rounds / Self.worlds)
        try await world.finish()
    }
}

/// One service, its origins, and all known facts about its tasks.
private struct KillWorld {
    let service: Service
    let smallSockets: PreloadedLibrary
    let origin: OriginServer
    let refusingOrigin: OriginServer
    let downloads: TemporaryDirectory
    let sources: TemporaryDirectory
    let seed: UInt64
    var planner: TransferPlanner
    /// Random numbers for the schedule, separate from those for the plans.
    var random: SplitMix64
    /// The transfers whose acceptance was confirmed.
    var accepted: [(id: TaskID, plan: TransferPlan, killsBefore: Int)] = []
    /// The transfers requested from a service that was killed before it responded. They may or may not exist.
    var unanswered: [TransferPlan] = []
    var verified: Set<String> = []
    var ended: Set<TaskID> = []
    /// The bytes that kills may have cost tasks that can resume exactly.
    var losses: [TaskID: Loss] = [:]
    var kills = 0
    /// The number of runs in which the service responded.
    var answeredLives = 0

    /// The bytes that were fetched and have to be fetched again.
    struct Loss {
        /// The bytes of a file fetched over several connections that are not in the last checkpoint. A kill loses them.
        var uncounted: Int64 = 0
        /// The number of kills since then during which the task ran, including the kill itself.
        var kills: Int64 = 0

        /// The largest number of bytes that may be fetched again.
        var bound: Int64 { uncounted + kills * 8 << 20 }
    }

    static let wantedTasks = 24
    static let session = "random"

    init(seed: UInt64, onOtherFileSystem: Bool) async throws {
        self.seed = seed
        service = try Service()
        let other = onOtherFileSystem && FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : nil
        downloads = try TemporaryDirectory(in: other)
        sources = try TemporaryDirectory()
        // With small socket buffers on both sides, the origin's count of sent bytes is close to what the service has
        // read.
        smallSockets = try await .smallSockets()
        origin = try OriginServer(sendBuffer: 65_536)
        refusingOrigin = try OriginServer(sendBuffer: 65_536)
        planner = TransferPlanner(
            directory: downloads.path, origin: origin, refusingOrigin: refusingOrigin, seed: seed)
        random = SplitMix64(seed: seed ^ 0x6b69_6c6c)
    }

    mutating func live(through rounds: Int) async throws {
        try await service.start(under: smallSockets.command)
        var settings = SessionSettings()
        settings.httpMaximumConnectionsPerHost = 16
        try await service.api.putSession(Self.session, settings)
        for _ in 0..<rounds {
            // Time counts from the service's first response in about half of the runs, so that enough runs do some
            // work.
            if Bool.random(using: &random) { try await untilAnswer() }
            let end = ContinuousClock.now + .milliseconds(Int.random(in: 50...600, using: &random))
            try await work(until: end)
            let running = try await exactTasksAlive()
            try await service.kill()
            kills += 1
            try await noteLosses(of: running)
            try checkFiles()
            try service.spawn(under: smallSockets.command)
        }
    }

    /// Enqueues the missing transfers and waits until the end.
    private mutating func work(until end: ContinuousClock.Instant) async throws {
        var hasAnswered = false
        while ContinuousClock.now < end {
            if let tasks = try? await service.api.tasks() {
                for task in tasks where task.state.isTerminal { ended.insert(task.id) }
                if !hasAnswered { answeredLives += 1 }
                hasAnswered = true
                let missing = Self.wantedTasks - tasks.count { !$0.state.isTerminal }
                if missing > 0 { try await enqueue(missing, killAt: end) }
            }
            try await passTime(
                until: min(end, .now + .milliseconds(25)),
                because: "The kill comes at a random moment and not with an event.")
        }
    }

    /// Enqueues transfers. The service may be killed before the response arrives.
    private mutating func enqueue(_ count: Int, killAt end: ContinuousClock.Instant) async throws {
        let sources = sources
        var plans: [TransferPlan] = []
        for _ in 0..<count {
            plans.append(
                try planner.next { content, number in
                    let path = sources.path("\(number)")
                    try TestContent.write(content, to: path)
                    return path
                })
        }
        let (requests, process) = (plans.map(\.request), service.process)
        let killer = Task {
            try await passTime(until: end, because: "The kill comes at a random moment.")
            process?.kill(SIGKILL)
        }
        defer { killer.cancel() }
        do {
            let ids = try await service.api.enqueue(requests, session: SessionID(rawValue: Self.session))
            accepted += zip(ids, plans).map { ($0, $1, kills) }
        } catch is ServiceAPI.Unreachable {
            unanswered += plans
        }
    }

    private func exactTasksAlive() async throws -> [(id: TaskID, path: String)] {
        accepted.filter { $0.plan.resumesExactly && !ended.contains($0.id) }.map { ($0.id, $0.plan.path) }
    }

    /// Records the losses of the service that has just been killed.
    private mutating func noteLosses(of tasks: [(id: TaskID, path: String)]) async throws {
        let counted = tasks.isEmpty ? [:] : try await service.countsOfMaps()
        for (id, path) in tasks {
            if let count = counted[id] {
                losses[id] = Loss(uncounted: max(0, origin.bodyBytesSent(for: path) - count), kills: 1)
            } else {
                losses[id, default: Loss()].kills += 1
            }
        }
    }

    /// Checks that every file under its final name is complete.
    private mutating func checkFiles() throws {
        for plan in accepted.map(\.plan) + unanswered {
            guard let directory = plan.request.destination?.directory, !verified.contains(directory) else { continue }
            let path = "\(directory)/\(TransferPlan.fileName)"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let isWhole = try plan.versions.contains { try $0.firstMismatch(inFileAt: path) == nil }
            #expect(isWhole, "\(path) is there and not one whole version; \(plan.resource.behaviours); seed \(seed)")
            verified.insert(directory)
        }
    }

    private func untilAnswer() async throws {
        let api = service.api
        try await eventually("an answer of the service", within: .seconds(60)) { (try? await api.status()) != nil }
    }

    mutating func finish() async throws {
        try await untilAnswer()
        let api = service.api
        for (id, plan, _) in accepted {
            let status = try await service.waitForEnd(id, within: .seconds(100))
            try check(status, plan)
        }
        // Tasks whose acceptance the service did not confirm end as well.
        try await eventually("the end of all tasks", within: .seconds(100)) {
            try await api.tasks().allSatisfy(\.state.isTerminal)
        }
        try checkFiles()
        try checkCosts()
        #expect(service.partialFiles == [], "seed \(seed)")
        let hidden = FileManager.default.enumerator(atPath: downloads.path)?.compactMap { $0 as? String }
        #expect(hidden?.filter { $0.hasSuffix(".part") } == [], "seed \(seed)")
        #expect(try await service.stop() == .code(0))
        #expect(answeredLives * 5 >= kills, "most lives were too short to say anything; seed \(seed)")
        print("RandomKillTests: seed \(seed): \(kills) kills, \(answeredLives) answered lives, \(accepted.count) tasks")
    }

    private func check(_ status: TaskStatus, _ plan: TransferPlan) throws {
        let about: Comment = "\(plan.resource.behaviours), seed \(seed): \(String(describing: status))"
        switch plan.outcome {
        case .file(let versions):
            #expect(status.state == .completed, about)
            guard let file = status.file else { return }
            #expect(try versions.contains { try $0.firstMismatch(inFileAt: file) == nil }, about)
            #expect(service.names(in: plan.request.destination?.directory ?? "") == [TransferPlan.fileName], about)
        case .uploaded(let content):
            #expect(status.state == .completed, about)
            let bodies = origin.requests(for: plan.path).filter { $0.status.map { $0 < 300 } ?? false }.map(\.body)
            #expect(try bodies.contains { try $0.matches(content) }, about)
        case .failure(let code):
            #expect(status.state == .failed, about)
            #expect(status.error?.code == code, about)
            #expect(service.names(in: plan.request.destination?.directory ?? "") == [], about)
        }
    }

    private func checkCosts() throws {
        var worst: Int64 = 0
        for (id, plan, _) in accepted where plan.resumesExactly {
            let (size, loss) = (plan.resource.content.size, losses[id] ?? Loss())
            let excess = origin.bodyBytesSent(for: plan.path) - size
            worst = max(worst, loss.kills == 0 ? 0 : (excess - loss.uncounted) / loss.kills)
            #expect(excess <= loss.bound, "task \(id) of \(size) bytes, \(loss), seed \(seed)")
        }
        print("RandomKillTests: seed \(seed): at most \(worst >> 10) KiB fetched again per kill")
    }
}

extension Service {
    /// Returns the bytes that the rows count for files fetched over several connections. The service must not be
    /// running.
    fileprivate func countsOfMaps() async throws -> [TaskID: Int64] {
        let query = """
            SELECT id, json_extract(partial, '$.segments.written') FROM tasks
            WHERE ended_at IS NULL AND json_extract(partial, '$.segments') IS NOT NULL
            """
        let outcome = try await ChildProcess.run(
            "sqlite3", ["-readonly", "-cmd", ".timeout 10000", paths.database.path, query])
        try #require(outcome.code == 0, "\(outcome.errors)")
        var counts: [TaskID: Int64] = [:]
        for line in outcome.output.split(separator: "\n") {
            // Each line has the form ID|[BEGIN,END,BEGIN,END].
            let numbers = line.split { !$0.isNumber }.compactMap { Int64($0) }
            let bounds = numbers.dropFirst()
            let ends = bounds.enumerated().reduce(0) { $0 + ($1.offset % 2 == 0 ? -$1.element : $1.element) }
            counts[TaskID(try #require(numbers.first))] = ends
        }
        return counts
    }
}
