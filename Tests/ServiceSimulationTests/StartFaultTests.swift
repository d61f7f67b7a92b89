import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// A task that takes the service down is found, and everything else goes on.
    @Suite struct StartFaultTests {
        @Test(arguments: [1, 3, 12]) func theOneThatTakesTheServiceDownIsHeldBack(others: Int) async {
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
                        // Seen within the shortest trial: later somebody else would be under way.
                        await world.advance(by: 0.1, inspecting: false)
                        let count = world.transport.begun.count { $0.request.url == bad }
                        guard count > begun else { continue }
                        faults += 1
                        world.service.starts.noteFault(5)
                        try await world.crash()
                        // What the successor of a transport tells begins anew.
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
                    // Mended in the meantime, it is as good as any other.
                    await world.resume(guilty)
                    await world.advance(by: 60)
                    #expect(await world.status(guilty)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        @Test func whatWasFinishingWaitsUntilTheSuspectsHaveBeenTried() async {
            await #expect(processExitsWith: .success) {
                var seen = 0
                // The fault comes behind one commit more each time; some of them leave the good one between its bytes and its name.
                for commits in 0..<8 {
                    await Simulation.run("a fault behind \(commits) commits") { world in
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
                        world.service.starts.noteFault(5)
                        try await world.crash()
                        try await world.boot()
                        let states = await (world.status(good)?.state, world.status(bad)?.state)
                        if states.0 == .finishing {
                            // One after the other, the one that began last first.
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

        @Test func crashesFromOutsideHoldNothingBack() async {
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
