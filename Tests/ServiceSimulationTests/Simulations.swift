import Foundation
import Testing

/// All simulations. They run one after the other, because each runs in its own process and needs all processors.
@Suite(.serialized) enum Simulations {}

/// The seeds that a run tries. `NIGHTSHIFT_SEED` sets one seed, and `NIGHTSHIFT_ROUNDS` sets the number of seeds.
enum Rounds {
    static func seeds(default count: Int) -> [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["NIGHTSHIFT_SEED"].flatMap(UInt64.init) { return [seed] }
        let rounds = environment["NIGHTSHIFT_ROUNDS"].flatMap(Int.init) ?? count
        return (1...max(1, rounds)).map { UInt64($0) }
    }
}

/// A runner of simulations, which names a simulation that fails.
enum Simulation {
    static func run(
        _ name: String, seed: UInt64 = 1, jitter: Double? = nil, _ body: (World) async throws -> Void
    ) async {
        do {
            try await body(World(seed: seed, jitter: jitter))
        } catch {
            Issue.record("\(name), seed \(seed): \(error)")
        }
    }
}
