package import NightshiftAPI
package import Scheduler

/// Why the service itself ends an exchange.
package enum Interruption: Hashable, Sendable {
    /// It makes room, is to be changed, or cannot be written down; or the service stops.
    case wait(WaitReason)
    /// The moment forbids it, as these values show.
    case hold(WaitReason, detail: String?, inputs: [String: String])
    /// It brings too little to keep its place while others wait, and continues at this boot second.
    case yield(until: Double, detail: String)
    /// Its connection is taken for dead: it goes on at once over another one.
    case reconnect

    /// What a moment makes of a transfer that runs; nil where it may go on.
    ///
    /// - Parameters:
    ///   - needs: of its task.
    ///   - awaitsResponse: whether nothing can move before the server has answered.
    package init?(_ moment: DeviceMoment, _ needs: HeldClass, awaitsResponse: Bool = false) {
        guard let reason = needs.hold(moment) else { return nil }
        // An upload that has sent all its bytes costs nothing more, and would have to send them again.
        if awaitsResponse, reason != .network { return nil }
        self = .hold(reason, detail: needs.detail(of: reason, moment), inputs: needs.inputs(moment))
    }

    package var reason: WaitReason {
        switch self {
        case .wait(let reason), .hold(let reason, _, _): reason
        case .yield: .slow
        case .reconnect: .starting
        }
    }

    package var detail: String? {
        switch self {
        case .hold(_, let detail, _): detail
        case .yield(_, let detail): detail
        case .wait, .reconnect: nil
        }
    }

    /// Boot seconds before which it does not continue.
    package var notBefore: Double? {
        if case .yield(let until, _) = self { until } else { nil }
    }

    package var inputs: [String: String]? {
        if case .hold(_, _, let inputs) = self, !inputs.isEmpty { inputs } else { nil }
    }
}

/// A time in which a running exchange has to show that its connection outlived a change of network or the machine's sleep.
package struct Probation: Hashable, Sendable {
    /// What it had moved when the time began.
    package var count: Int64
    /// Seconds of the awake clock.
    package var until: Double

    package init(count: Int64, until: Double) {
        self.count = count
        self.until = until
    }

    /// Seconds without a byte after which a connection is taken for dead: several round trips over the worst of networks, and
    /// far less than an idle timeout.
    package static let length: Double = 5
}
