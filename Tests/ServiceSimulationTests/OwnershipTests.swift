import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests that a confirmed change holds, whatever the service was doing with the task at that time.
    @Suite struct OwnershipTests {
        @Test func `A confirmed change is never undone`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("changes at every moment") { world in
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    for round in 0..<30 {
                        let url = Story.serve(world, name: "\(round)", size: [1_000, 200_000][round % 2])
                        let id = await world.enqueue(world.request(url))
                        let last = Watched(0)
                        var next = 0
                        while let event = world.nextEvent, event < world.now.bootSeconds + 3_600 {
                            // The changes run concurrently with the other events at this time.
                            let (service, from) = (world.service, next)
                            next += 20
                            let changes = Task {
                                for number in from..<from + 20 {
                                    let change = TaskChange(
                                        priority: Double(number % 100) / 100, rateLimit: Int64(10_000_000 + number))
                                    guard (try? await service.change(id, change)) != nil else { return }
                                    last.update { $0 = number }
                                }
                            }
                            world.clock.advance(to: max(event, world.now.bootSeconds))
                            world.transport.runDue()
                            await world.settle()
                            await changes.value
                            if await world.status(id)?.state.isTerminal ?? true { break }
                        }
                        let status = await world.status(id)
                        #expect(status?.state == .completed, "round \(round)")
                        let number = last.read { $0 }
                        #expect(status?.rateLimit == Int64(10_000_000 + number), "round \(round)")
                        #expect(status?.priority == Double(number % 100) / 100, "round \(round)")
                    }
                    try await world.stop()
                }
            }
        }

        @Test func `A start of a task uses every change that was confirmed before`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("changes at the start") { world in
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    for round in 0..<30 {
                        let url = Story.serve(world, name: "\(round)", size: 5_000_000)
                        let id = await world.enqueue(world.request(url) { $0.suspended = true })
                        let limit = Int64(100_000 + round)
                        let service = world.service
                        world.ledger.entries[id]?.isSuspended = false
                        await world.call {
                            async let resumed: TaskStatus? = try? service.resume(id)
                            async let changed: TaskStatus? = try? service.change(id, TaskChange(rateLimit: limit))
                            _ = await (resumed, changed)
                        }
                        await world.advance(by: 1)
                        #expect(world.transport.rateLimits == [limit], "round \(round)")
                        await world.cancel(id, keeping: false)
                    }
                    try await world.stop()
                }
            }
        }
    }
}
