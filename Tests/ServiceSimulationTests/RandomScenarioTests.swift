import Foundation
import SimulationSupport
import TestSupport
import Testing

extension Simulations {
    /// Tests of the whole service under random actions and network trouble.
    @Suite struct RandomScenarioTests {
        @Test func `Every accepted task ends despite random requests and network failures`() async {
            print("random acts: seeds \(Rounds.seeds(default: 6))")
            await #expect(processExitsWith: .success) {
                for seed in Rounds.seeds(default: 6) {
                    await Simulation.run("random acts", seed: seed) { world in
                        await world.start()
                        var scenario = Scenario(world)
                        for _ in 0..<40 { await scenario.act() }
                        await scenario.finish()
                        try await world.stop()
                        let left = OpenFiles.count(below: world.directory.path)
                        #expect(left == 0, "seed \(seed): \(left) descriptors were left open")
                    }
                }
            }
        }
    }
}
