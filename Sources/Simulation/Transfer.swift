import NightshiftAPI
import Scheduler

/// A transfer that exists in a trace alone.
struct Transfer {
    let id: TaskID
    /// Nil for one that a person asked for.
    let app: AppID?
    /// The session, as the app calls it.
    let session: String
    let lane: Int
    let priority: Double
    let bytes: Int64
    /// What it needs by its own word; ``rules`` is what of that is left.
    let request: TransferRules
    var rules: TransferRules
    /// Whether it waits for a good moment only because its app added it in the background.
    var isForced: Bool
    var received = 0.0
    /// Boot seconds at which it fails.
    let deadline: Double
    let resourceTimeout: Double
    /// Boot seconds before which it does not start.
    var notBefore: Double?
    var state = State.delayed
    /// Boot seconds from which on it has waited.
    var waitsFrom: Double

    enum State: Hashable {
        case delayed
        case waiting
        /// From a boot second on.
        case running(since: Double)
        case ended
    }

    var isLarge: Bool { Double(bytes) - received >= Double(Admission.largeSize) }
    var missing: Double { max(0, Double(bytes) - received) }

    /// Its rules after so much of its time: what can wait for a good moment waits for less as its time runs out.
    func rules(at now: Double) -> TransferRules {
        var rules = request
        if isForced { rules.discretion = .full }
        guard rules.discretion == .full else { return rules }
        if now >= deadline - resourceTimeout * Self.noneFraction {
            rules.discretion = .none
        } else if now >= deadline - resourceTimeout * Self.relaxedFraction {
            rules.discretion = .relaxed
        }
        return rules
    }

    /// The boot seconds at which ``rules(at:)`` change.
    var loosenings: [Double] {
        [deadline - resourceTimeout * Self.relaxedFraction, deadline - resourceTimeout * Self.noneFraction]
    }

    /// The parts of its time that are left when it is content with less, and with anything (`docs/decisions/0014`).
    private static let relaxedFraction = 0.5
    private static let noneFraction = 0.1
}
