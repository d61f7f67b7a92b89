import Foundation
import Testing

/// All simulations, one after the other: each runs in its own process and needs all processors.
@Suite(.serialized) enum Simulations {}

/// The seeds that a run tries: `NIGHTSHIFT_SEED` names one, `NIGHTSHIFT_ROUNDS` says how many.
enum Rounds {
    static func seeds(default count: Int) -> [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["NIGHTSHIFT_SEED"].flatMap(UInt64.init) { return [seed] }
        let rounds = environment["NIGHTSHIFT_ROUNDS"].flatMap(Int.init) ?? count
        return (1...max(1, rounds)).map { UInt64($0) }
    }
}

/// Runs a simulation, and names it if it fails.
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
