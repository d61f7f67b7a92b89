import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests that the service finds a task that crashes it, and that all other tasks continue.
    @Suite struct StartFaultTests {
        @Test(arguments: [1, 3, 12]) func `A task that crashes the service is suspended and the other tasks complete`(
            others: Int
        ) async {
            await #expect(processExitsWith: .success) { [others] in
                await Simulation.run("a task that takes the service down") { world in
                    world.transport.setBandwidth(500_000)
                    let bad = Story.serve(world, name: "bad", size: 1_000_000)
                    let urls = (0..<others).map { Story.serve(world, name: "\($0)", size: 3_000_000) }
                    await world.start()
                    for url in urls { await world.enqueue(world.request(url)) }
                    let guilty = await world.enqueue(world.request(bad))
                    let good = world.ledger.open.filter { $0 != guilty }
                    var (faults, begun) = (0, 0)
                    for _ in 0..<2_000 {
                        // The step is shorter than the shortest isolated retry. After a longer one another task could
                        // be running.
                        await world.advance(by: 0.1, inspecting: false)
                        let count = world.transport.begun.count { $0.request.url == bad }
                        guard count > begun else { continue }
                        faults += 1
                        world.service.starts.noteFault(5, at: world.now.bootSeconds)
                        try await world.crash()
                        // The next transport starts counting from zero.
                        begun = world.transport.begun.count { $0.request.url == bad }
                        try await world.boot()
                    }
                    #expect(faults == 2)
                    let held = await world.status(guilty)
                    #expect(held?.state == .suspended)
                    #expect(held?.wait?.reason == .serviceFault)
                    for id in good { #expect(await world.status(id)?.state == .completed) }
                    let entries = await world.journal()
                    #expect(entries.count { $0.decision == .serviceFault } == 2)
                    #expect(entries.last { $0.task == guilty }?.wait?.reason == .serviceFault)
                    // Once the task is repaired, it runs like any other.
                    await world.resume(guilty)
                    await world.advance(by: 60)
                    #expect(await world.status(guilty)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        /// A case with the time until the crash, the number of other tasks, whether the bad task started last, and the
        /// number of crashes until it is found.
        struct LateFault: Sendable {
            var fuse: Double
            var others = 4
            var isLast = true
            var faults = 2
        }

        static let lateFaults: [LateFault] = [
            LateFault(fuse: 5), LateFault(fuse: 7, isLast: false), LateFault(fuse: 40, isLast: false),
            LateFault(fuse: 120), LateFault(fuse: 300, others: 1),
            // The time until the crash is too long to retry all tasks one by one.
            LateFault(fuse: 200, faults: 3),
        ]

        @Test(arguments: lateFaults.indices)
        func `A task that crashes the service late is found without blocking other tasks`(number: Int) async {
            await #expect(processExitsWith: .success) { [number] in
                let late = StartFaultTests.lateFaults[number]
                await Simulation.run("a task that takes the service down after \(late.fuse) s") { world in
                    world.transport.setBandwidth(2_000, interval: 1)
                    let size = 2_000 * Int64(saturating: late.fuse * 4 + 30)
                    let bad = Story.serve(world, name: "bad", size: size)
                    let urls = (0..<late.others).map { Story.serve(world, name: "\($0)", size: size) }
                    await world.start()
                    for url in late.isLast ? urls + [bad] : [bad] + urls { await world.enqueue(world.request(url)) }
                    let ids = world.ledger.open.sorted()
                    let guilty = late.isLast ? ids[late.others] : ids[0]
                    #expect(try await StartFaultTests.faults(of: bad, guilty, fuse: late.fuse, world) == late.faults)
                    #expect(await world.status(guilty)?.wait?.reason == .serviceFault)
                    // A task that was already found does not become a crash suspect again.
                    try await world.crash()
                    try await world.boot()
                    await world.advance(by: 10_000, inspecting: false)
                    for id in ids where id != guilty { #expect(await world.status(id)?.state == .completed, "\(id)") }
                    let entries = await world.journal()
                    #expect(entries.count { $0.decision == .serviceFault } == late.faults)
                    #expect(Set(entries.filter { $0.wait?.reason == .serviceFault }.map(\.task)) == [guilty])
                    await world.resume(guilty)
                    await world.advance(by: 10_000, inspecting: false)
                    #expect(await world.status(guilty)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        @Test func `A task that starts only beside other tasks is retried alone after its second crash`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a task that takes the service down whenever it may start") { world in
                    world.transport.setBandwidth(2_000, interval: 1)
                    let (bad, other) = (
                        Story.serve(world, name: "bad", size: 3_000_000),
                        Story.serve(world, name: "good", size: 3_000_000)
                    )
                    await world.start()
                    let good = await world.enqueue(world.request(other))
                    let guilty = await world.enqueue(world.request(bad) { $0.allowsExpensiveNetworkAccess = false })
                    for number in 1...3 {
                        // When the service starts, the device state forbids the task.
                        await world.change { $0.conditions.network.isExpensive = false }
                        #expect(try await StartFaultTests.fault(of: bad, fuse: 5, within: 300, world))
                        await world.change { $0.conditions.network.isExpensive = true }
                        try await world.boot()
                        let status = await world.status(guilty)
                        #expect(status?.wait?.reason == (number < 3 ? .expensiveNetwork : .serviceFault), "\(number)")
                        // The second time, the isolated retry of the good task is over after this step.
                        await world.advance(by: number == 1 ? 60 : 300, inspecting: false)
                        #expect(await world.status(good)?.state == .running, "\(number)")
                    }
                    await world.advance(by: 3_000, inspecting: false)
                    #expect(await world.status(good)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        /// Restarts the service after each crash until the task is blocked. Returns the number of crashes.
        private static func faults(of url: String, _ task: TaskID, fuse: Double, _ world: World) async throws -> Int {
            var faults = 0
            while faults < 10, try await fault(of: url, fuse: fuse, within: 5_000, world) {
                faults += 1
                try await world.boot()
                if await world.status(task)?.state == .suspended { break }
            }
            return faults
        }

        /// Crashes the service after the URL's exchange has run for `fuse` seconds. Returns false if the exchange does
        /// not run so long within `limit` seconds.
        private static func fault(of url: String, fuse: Double, within limit: Double, _ world: World) async throws
            -> Bool
        {
            let end = world.now.bootSeconds + limit
            while world.now.bootSeconds < end {
                await world.advance(by: max(0.1, fuse / 50), inspecting: false)
                let begun = world.transport.underWay.first { $0.request.url == url }
                guard let begun, world.now.bootSeconds - begun.time >= fuse else { continue }
                world.service.starts.noteFault(5, at: world.now.bootSeconds)
                try await world.crash()
                return true
            }
            return false
        }

        @Test func `A task that was finishing at a crash waits until the suspects have been retried`() async {
            await #expect(processExitsWith: .success) {
                var seen = 0
                // Each crash comes one commit later than the last. Some crashes happen after the good task's bytes are
                // complete but before the file has its final name.
                for commits in 0..<8 {
                    await Simulation.run("a crash after \(commits) commits") { world in
                        world.transport.setBandwidth(500_000)
                        let (goodURL, badURL) = (
                            Story.serve(world, name: "good", size: 400_000),
                            Story.serve(world, name: "bad", size: 9_000_000)
                        )
                        await world.start()
                        let good = await world.enqueue(world.request(goodURL))
                        await world.advance(by: 0.2)
                        let bad = await world.enqueue(world.request(badURL))
                        await world.advance(by: 0.2)
                        world.commits.open(for: commits)
                        await world.advance(by: 5, inspecting: false)
                        world.service.starts.noteFault(5, at: world.now.bootSeconds)
                        try await world.crash()
                        try await world.boot()
                        let states = await (world.status(good)?.state, world.status(bad)?.state)
                        if states.0 == .finishing {
                            // Crash suspects run one after the other, and the last started one is first.
                            #expect(states.1 == .running)
                            seen += 1
                        }
                        await world.advance(by: 120)
                        #expect(await world.status(good)?.state == .completed)
                        #expect(await world.status(bad)?.state == .completed)
                        try await world.stop()
                    }
                }
                #expect(seen > 0)
            }
        }

        @Test func `Crashes from outside during start-up do not block any task`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("crashes while everything starts") { world in
                    let urls = (0..<8).map { Story.serve(world, name: "\($0)", size: 100_000) }
                    world.transport.setWeather { _ in .silent }
                    await world.start()
                    for url in urls { await world.enqueue(world.request(url)) }
                    for _ in 0..<6 {
                        await world.advance(by: 0.4)
                        try await world.crash()
                        try await world.boot()
                    }
                    world.transport.setWeather { _ in .normal }
                    await world.advance(by: 3_600)
                    #expect(world.ledger.open.isEmpty)
                    try await world.stop()
                }
            }
        }
    }
}
