package import NightshiftAPI

/// Plays traces: what the service would decide, moment by moment, under a virtual clock.
///
/// `DozeMachine`, `Permission`, `Admission` and `AppMachine` decide, as they do in the service; processes and the network are
/// made up (``Process``, ``TransferQueue``). There is one thread, no clock, no randomness and no order that differs from run
/// to run: a trace has one outcome. See `docs/decisions/0015`.
package enum Simulation {
    /// The outcome of a trace.
    package struct Outcome: Hashable, Sendable {
        /// Every decision, in its order; the ids count from 1.
        package var entries: [JournalEntry]
        package var totals: SimulationTotals
    }

    /// - Parameter policy: stands in place of every policy that the trace names, for comparing.
    package static func run(_ trace: Trace, policy: BackgroundPolicy? = nil) -> Outcome {
        var world = World(trace, policy: policy)
        return world.run()
    }
}

extension Trace {
    /// Plays the trace: ``Simulation/run(_:policy:)`` where that name means something else.
    package func played(policy: BackgroundPolicy? = nil) -> Simulation.Outcome { Simulation.run(self, policy: policy) }
}
