package import NightshiftAPI
package import Scheduler

/// The reason why the service itself ends an exchange.
package enum Interruption: Hashable, Sendable {
    /// The task gives up its connections to other tasks, will be changed, or cannot be committed, or the service is
    /// stopping.
    case wait(WaitReason)
    /// The device state does not allow the task, as these values show.
    case hold(WaitReason, detail: String?, inputs: [String: String])
    /// The transfer is too slow to keep its connection slot while others wait. The transfer continues at the boot
    /// second `until`.
    case yield(until: Double, detail: String)
    /// The connection is presumed dead. The transfer continues at once over a new connection.
    case reconnect

    /// Creates the interruption of a running transfer by the device state. Returns nil if the transfer may continue.
    ///
    /// - Parameters:
    ///   - needs: the requirement class of the task.
    ///   - awaitsResponse: whether no byte can move before the server has answered.
    package init?(_ moment: DeviceState, _ needs: RequirementClass, awaitsResponse: Bool = false) {
        guard let reason = needs.hold(moment) else { return nil }
        // An upload that has sent all its bytes needs no more resources. An interruption would make it send the bytes
        // again.
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

    /// The earliest boot second at which the transfer continues.
    package var notBefore: Double? {
        if case .yield(let until, _) = self { until } else { nil }
    }

    package var inputs: [String: String]? {
        if case .hold(_, _, let inputs) = self, !inputs.isEmpty { inputs } else { nil }
    }
}

/// The period in which an exchange has to show that its connection survived a change of network or the machine's sleep.
package struct ConnectionCheck: Hashable, Sendable {
    /// The number of bytes that the exchange had moved when the check began.
    package var count: Int64
    /// The end of the check, in seconds of the awake clock.
    package var until: Double

    package init(count: Int64, until: Double) {
        self.count = count
        self.until = until
    }

    /// The seconds without a byte after which a connection is presumed dead: several round trips over a very poor
    /// network, and far less than an idle timeout.
    package static let length: Double = 5
}
