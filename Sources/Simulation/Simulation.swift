package import NightshiftAPI

/// Plays traces: simulates the decisions of the service under a virtual clock.
///
/// `DozeMachine`, `Permission`, `Admission` and `AppMachine` make the decisions, as in the service. Processes and the
/// network are simulated (``Process``, ``TransferQueue``). The simulation uses only one thread, no real clock, no
/// randomness and no order that varies between runs, so a trace has exactly one outcome. See `docs/decisions/0015`.
package enum Simulation {
    /// The outcome of a trace.
    package struct Outcome: Hashable, Sendable {
        /// All decisions in order. Their ids count from 1.
        package var entries: [JournalEntry]
        package var totals: SimulationTotals
    }

    /// - Parameter policy: the policy that replaces every policy of the trace, for comparisons.
    package static func run(_ trace: Trace, policy: BackgroundPolicy? = nil) -> Outcome {
        var world = World(trace, policy: policy)
        return world.run()
    }
}

extension Trace {
    /// Plays the trace. This function is for code in which the name ``Simulation/run(_:policy:)`` is ambiguous.
    package func played(policy: BackgroundPolicy? = nil) -> Simulation.Outcome { Simulation.run(self, policy: policy) }
}
