import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of the sharing of hosts, connections and bandwidth among tasks.
    @Suite struct SharingTests {
        @Test func `Only one task at a time probes a host with connection failures`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("probe", jitter: 0.9) { world in
                    let urls = (0..<12).map { Story.serve(world, name: "\($0)", size: 4_000_000) }
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    await world.enqueue(urls.prefix(8).map { world.request($0) })
                    await world.enqueue(urls.suffix(4).map { world.request($0, session: "other") }, session: "other")
                    // Six tasks of one session and four of the other start at once. After that all tasks wait for one
                    // pause of the host.
                    #expect(world.transport.begun.count == 10)
                    let start = world.now.bootSeconds
                    await world.advance(by: 60)
                    let probes = world.transport.begun.dropFirst(10).map(\.time)
                    #expect(!probes.isEmpty)
                    #expect(Set(probes).count == probes.count, "Two probes at once: \(probes.map { $0 - start })")
                    let page = try await world.service.tasks(TaskQuery(limit: 100))
                    let reasons = Set(page.tasks.compactMap { $0.wait?.reason })
                    #expect(reasons.isSubset(of: [.hostBackoff, .retry]), "\(reasons)")
                    let asked = world.transport.begun.count
                    world.transport.setWeather { _ in .normal }
                    await world.advance(atMost: 600) { world.transport.begun.count > asked }
                    #expect(world.transport.begun.count == asked + 1)
                    // The head of the probe's response unblocks the host. The other tasks do not wait for the body.
                    await world.advance(by: 0.06)
                    #expect(world.transport.begun.count > asked + 1)
                    await world.advance(atMost: 3_600) { world.ledger.open.isEmpty }
                    #expect(world.ledger.open.isEmpty)
                }
            }
        }

        @Test func `A Retry-After delays every task that received it, but no tasks of other hosts`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("shared Retry-After") { world in
                    let refusal = [ScriptedBehaviour.status(503, retryAfter: "300")]
                    let first = Story.serve(world, name: "a", size: 1_000, script: refusal)
                    let second = Story.serve(world, name: "b", size: 1_000, script: refusal)
                    let elsewhere = Story.serve(world, host: "elsewhere", size: 1_000)
                    await world.start()
                    await world.enqueue(world.request(first))
                    await world.advance(by: 1)
                    let held = await world.enqueue(world.request(second))
                    let free = await world.enqueue(world.request(elsewhere))
                    await world.advance(by: 10)
                    #expect(await world.status(held)?.wait?.reason == .retryAfter)
                    #expect(await world.status(free)?.state == .completed)
                    await world.advance(by: 600)
                    #expect(world.ledger.open.isEmpty)
                    for url in [first, second] {
                        let gaps = Story.gaps(world.transport.begun.filter { $0.request.url == url }.map(\.time))
                        #expect(gaps.count == 1 && gaps.allSatisfy { $0 > 300.049 && $0 < 301 }, "\(gaps)")
                    }
                }
            }
        }

        @Test func `A small file starts after ten seconds although six large files use all connections`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("starvation") { world in
                    let large = (0..<6).map { Story.serve(world, name: "large\($0)", size: 40 << 20) }
                    let small = Story.serve(world, name: "small", size: 10_000)
                    world.transport.setBandwidth(1 << 20)
                    await world.start()
                    let ids = await world.enqueue(large.map { world.request($0) })
                    let start = world.now.bootSeconds
                    await world.advance(by: 3)
                    let id = await world.enqueue(world.request(small))
                    await world.advance(by: 1)
                    #expect(await world.status(id)?.wait?.reason == .connectionLimit)
                    await world.advance(by: 8)
                    #expect(await world.status(id)?.state == .completed)
                    let begun = world.transport.begun.first { $0.request.url == small }?.time ?? 0
                    #expect(abs(begun - start - 10) < 0.1, "The small one began after \(begun - start) seconds.")
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    for id in ids { #expect(await world.status(id)?.state == .completed) }
                    // The task that gave up its connection continued from its last byte.
                    #expect(world.transport.begun.count == 8)
                    #expect(world.transport.begun.last?.request.headers.first("Range") != nil)
                }
            }
        }

        @Test func `The waiting task with the highest priority starts next`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("priority") { world in
                    let urls = (0..<8).map { Story.serve(world, host: "host\($0)", size: 1_000) }
                    await world.start()
                    _ = await world.call { [service = world.service] in
                        try? await service.change(ServiceSettings(maximumTransfers: 1))
                    }
                    let changed = await world.journal().last { $0.decision == .settingsChanged }
                    #expect(changed != nil && changed?.task == nil)
                    #expect(
                        changed?.detail == "Rate limit: none. At most 1 transfer at once. Yield to other traffic: auto."
                    )
                    world.requests.setMaximumTransfers(1)
                    let first = await world.enqueue(world.request(urls[0]))
                    let priorities = [0.2, 0.9, 0.5, 0.5, 0.1, 1.0, 0.7]
                    let ids = await world.enqueue(
                        zip(urls.dropFirst(), priorities).map { world.request($0, priority: $1) })
                    #expect(await world.status(ids[0])?.wait?.reason == .serviceLimit)
                    await world.change(ids[4], TaskChange(priority: 0.95))
                    await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                    let order = world.transport.begun.compactMap { begun in urls.firstIndex(of: begun.request.url) }
                    #expect(order == [0, 6, 5, 2, 7, 3, 4, 1])
                    #expect(await world.status(first)?.state == .completed)
                }
            }
        }

        @Test func `A changed rate limit applies to a running transfer at once`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("rate limit") { world in
                    let url = Story.serve(world, size: 10_000_000)
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let id = await world.enqueue(world.request(url) { $0.rateLimit = 500_000 })
                    await world.advance(by: 4)
                    #expect(world.transport.rateLimits == [500_000])
                    await world.change(id, TaskChange(rateLimit: 100_000))
                    #expect(world.transport.rateLimits == [100_000])
                    let before = await world.status(id)?.countOfBytesReceived ?? 0
                    await world.advance(by: 10)
                    let after = await world.status(id)?.countOfBytesReceived ?? 0
                    #expect((after - before) / 10_000 == 100)
                    await world.change(id, TaskChange(rateLimit: 0))
                    #expect(world.transport.rateLimits == [nil])
                    _ = await world.call { [service = world.service] in
                        try? await service.change(ServiceSettings(rateLimit: 200_000))
                    }
                    #expect(world.transport.rateLimit == 200_000)
                    try await world.restart()
                    #expect(world.transport.rateLimit == 200_000)
                }
            }
        }

        /// A test that a task that stops gives its connections to other tasks, but not to tasks in the same request.
        @Test func `A request that stops many tasks does not start any of these tasks`() async {
            await #expect(processExitsWith: .success) {
                for (action, state) in [(TaskAction.cancel, TaskState.cancelled), (.suspend, .suspended)] {
                    await Simulation.run("\(action) many") { world in
                        let urls = (0..<300).map { Story.serve(world, name: "\($0)", size: 400_000) }
                        await world.start()
                        let ids = await world.enqueue(urls.map { world.request($0) })
                        #expect(world.transport.begun.count == 6)
                        let answer = await world.call { [service = world.service] in
                            try? await service.act(TaskActionRequest(action, ids))
                        }
                        let results = (answer ?? nil)?.results ?? []
                        #expect(results.map(\.id) == ids)
                        #expect(results.allSatisfy { $0.task?.state == state && $0.problem == nil })
                        #expect(world.transport.begun.count == 6)
                    }
                }
            }
        }

        @Test func `A service without running tasks keeps no files open and sets no timers`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("idle") { world in
                    let urls = (0..<40).map {
                        Story.serve(
                            world, host: "h\($0 % 5)", name: "\($0)", size: Int64($0 * 30_000),
                            script: [.cut(after: 500)])
                    }
                    await world.start()
                    let idle = OpenFiles.count(below: world.directory.path)
                    await world.enqueue(urls.map { world.request($0) })
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    await world.advance(by: 30)
                    #expect(world.ledger.open.isEmpty)
                    #expect(world.nextEvent == nil)
                    #expect(world.clock.sleepers == 0)
                    // The database may have more readers open than at first, so only the partial files are counted.
                    #expect(OpenFiles.count(below: world.paths.partials.path) == 0)
                    #expect(OpenFiles.count(below: world.directory.path) <= idle + 6)
                    try await world.stop()
                    #expect(OpenFiles.count(below: world.directory.path) == 0)
                }
            }
        }
    }
}
