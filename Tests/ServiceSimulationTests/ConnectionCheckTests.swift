import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of connection checks after a change of network and after a sleep of the machine.
    @Suite struct ConnectionCheckTests {
        /// Events after which connections need a check.
        private static let shocks: [(String, @Sendable (World) async -> Void)] = [
            ("another network", { await $0.change { $0.conditions.network.name = "train" } }),
            ("another kind of network", { await $0.change { $0.conditions.network.kind = .cellular } }),
            (
                "sleep",
                {
                    await $0.change { $0.conditions.isSleeping = true }
                    await $0.change { $0.conditions.isSleeping = false }
                }
            ),
        ]

        @Test func `A stalled exchange restarts within five seconds after a network change or sleep`() async {
            await #expect(processExitsWith: .success) {
                for (name, shock) in Self.shocks {
                    await Simulation.run("stalled after \(name)") { world in
                        let url = Story.serve(world, size: 6_000_000, script: [.stall(after: 2_500_000)])
                        world.transport.setBandwidth(1_000_000)
                        await world.start()
                        let id = await world.enqueue(world.request(url))
                        await world.advance(by: 4.4)
                        let moment = world.now.bootSeconds
                        await shock(world)
                        #expect(world.transport.timesForgotten == 1, "\(name)")
                        await world.advance(by: 4.9)
                        #expect(world.transport.begun.count == 1)
                        await world.advance(by: 0.2)
                        let begun = world.transport.begun
                        #expect(begun.count == 2, "\(name)")
                        #expect(abs((begun.last?.time ?? 0) - moment - 5) < 0.001, "\(name)")
                        #expect(begun.last?.request.headers.first("Range") == "bytes=2500000-")
                        await world.advance(by: 20)
                        let status = await world.status(id)
                        #expect(status?.state == .completed)
                        #expect(status?.attempts == 2)
                        #expect(status?.lastError == nil)
                        let decisions = await world.journal().map(\.decision)
                        #expect(!decisions.contains(.held))
                        #expect(decisions.count { $0 == .reconnected } == 1)
                        #expect(decisions.contains(.networkChanged) == (name != "sleep"))
                    }
                }
            }
        }

        @Test func `An exchange that receives data continues after a network change or sleep`() async {
            await #expect(processExitsWith: .success) {
                for (name, shock) in Self.shocks {
                    await Simulation.run("flowing after \(name)") { world in
                        let url = Story.serve(world, size: 12_000_000)
                        world.transport.setBandwidth(1_000_000)
                        await world.start()
                        let id = await world.enqueue(world.request(url))
                        await world.advance(by: 3.1)
                        await shock(world)
                        await world.advance(by: 30)
                        #expect(await world.status(id)?.state == .completed)
                        #expect(world.transport.begun.count == 1, "\(name)")
                    }
                }
            }
        }

        @Test func `A connection check counts only time during which the machine is awake`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("asleep in between") { world in
                    let url = Story.serve(world, size: 6_000_000, script: [.stall(after: 2_500_000)])
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    await world.enqueue(world.request(url) { $0.idleTimeout = 10_000 })
                    await world.advance(by: 4.4)
                    let start = world.now
                    await world.change { $0.conditions.network.name = "train" }
                    await world.advance(by: 3)
                    world.clock.sleepMachine(for: 1_000)
                    await world.settle()
                    #expect(world.transport.begun.count == 1)
                    await world.advance(by: 10)
                    #expect(world.transport.begun.count == 2)
                    let began = world.transport.begun.last?.time ?? 0
                    #expect(abs(began - start.bootSeconds - 1_005) < 0.001)
                }
            }
        }

        @Test func `A connection that is lost during its check does not count as a failure`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("broken by the change", jitter: 0.9) { world in
                    let url = Story.serve(world, size: 6_000_000, script: [.cut(after: 3_000_000)])
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 3.01)
                    await world.change { $0.conditions.network.name = "train" }
                    await world.advance(by: 2)
                    // A pause after a failure would have been longer.
                    let begun = world.transport.begun.map(\.time)
                    #expect(begun.count == 2)
                    await world.advance(by: 20)
                    #expect(await world.status(id)?.state == .completed)
                    #expect(await world.status(id)?.lastError == nil)
                }
            }
        }

        @Test func `An exchange with localhost continues after a change or loss of the network`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("loopback") { world in
                    let url = "http://localhost:8080/file"
                    world.transport.serve(
                        url,
                        ScriptedResource(
                            [ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"a\"")],
                            script: [.stall(after: 1_000_000)]))
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 2)
                    await world.change { $0.conditions.network.name = "train" }
                    await world.change { $0.conditions.network.isAvailable = false }
                    await world.advance(by: 30)
                    #expect(world.transport.begun.count == 1)
                    #expect(await world.status(id)?.state == .running)
                    await world.change { $0 = DeviceState() }
                    await world.advance(by: 120)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }

        @Test func `The service does not send an upload again that only waits for its response`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("upload") { world in
                    let path = world.directory.path("source")
                    try Data(repeating: 7, count: 1_000_000).write(to: URL(filePath: path))
                    let url = Story.serve(world, size: 10, script: [.stall(after: 0)])
                    await world.start()
                    let id = await world.enqueue(
                        world.request(url, kept: true) {
                            $0.kind = .upload
                            $0.source = path
                            $0.isDiscretionary = true
                        })
                    await world.advance(by: 3)
                    #expect(await world.status(id)?.countOfBytesSent == 1_000_000)
                    await world.change { $0.conditions.network.name = "train" }
                    await world.change { $0.phase = .dozing }
                    await world.advance(by: 30)
                    #expect(world.transport.begun.count == 1)
                    #expect(await world.status(id)?.state == .running)
                    // The exchange ends by its idle timeout. After that the task waits for the maintenance window.
                    await world.advance(by: 60)
                    #expect(await world.status(id)?.state == .waiting)
                    await world.change { $0.phase = .window }
                    await world.advance(by: 60)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }

        @Test func `A different network ends the pauses that the previous network caused`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("pauses", jitter: 0.9) { world in
                    let url = Story.serve(world, size: 1_000)
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    await world.enqueue(world.request(url))
                    await world.advance(by: 400)
                    world.transport.setWeather { _ in .normal }
                    let asked = world.transport.begun.count
                    let moment = world.now.bootSeconds
                    await world.change { $0.conditions.network.name = "home" }
                    #expect(world.transport.begun.dropFirst(asked).map(\.time) == [moment])
                    await world.advance(by: 2)
                    #expect(world.ledger.open.isEmpty)
                }
            }
        }
    }
}
