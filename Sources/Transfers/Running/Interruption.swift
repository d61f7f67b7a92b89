import NightshiftAPI

/// Why the service itself ends an exchange.
enum Interruption {
    /// It makes room, is to be changed, or cannot be written down; or the service stops.
    case wait(WaitReason)
    /// The moment forbids it, as these values show.
    case hold(WaitReason, detail: String?, inputs: [String: String])
    /// Its connection is taken for dead: it goes on at once over another one.
    case reconnect

    var reason: WaitReason {
        switch self {
        case .wait(let reason), .hold(let reason, _, _): reason
        case .reconnect: .starting
        }
    }

    var detail: String? {
        if case .hold(_, let detail, _) = self { detail } else { nil }
    }

    var inputs: [String: String]? {
        if case .hold(_, _, let inputs) = self, !inputs.isEmpty { inputs } else { nil }
    }
}

/// A time in which a running exchange has to show that its connection outlived a change of network or the machine's sleep.
struct Probation {
    /// What it had moved when the time began.
    var count: Int64
    /// Seconds of the awake clock.
    var until: Double

    /// Seconds without a byte after which a connection is taken for dead: several round trips over the worst of networks, and
    /// far less than an idle timeout.
    static let length: Double = 5
}
