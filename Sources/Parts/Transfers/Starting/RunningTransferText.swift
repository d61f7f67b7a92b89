import NightshiftAPI

/// The explanation of a running transfer, for display. This is a pure value.
struct RunningTransferText {
    /// The transfer's own rate limit in bytes per second.
    var ownLimit: Int64?
    /// The rate limit of all transfers together, in bytes per second.
    var serviceLimit: Int64?
    /// The number of running transfers.
    var running = 1
    /// The slowness of the transfer; nil if it is fast enough.
    var slowness: Slowness?
    /// How the transfer yields to other traffic; nil if it does not, or if its route was not measured yet.
    var yielding: YieldStatus?

    /// The rate and the time of a transfer that receives almost no bytes.
    struct Slowness {
        /// The time in seconds since which the transfer has been slow.
        var seconds: Double
        /// The rate in bytes per second below which a transfer is slow.
        var minimum: Double

        /// The sentence, for example "The transfer received fewer than 512 bytes per second for 12 s."
        var sentence: String { "\(clause)." }

        fileprivate var clause: String {
            let rate = Int64(saturating: minimum.rounded(.up))
            return "The transfer received fewer than \(rate) bytes per second for \(Int64(saturating: seconds)) s"
        }
    }

    /// The explanation, for example "It is running, limited to 1.0 MiB/s by 'nightshift limit'."
    var sentence: String {
        let state =
            "It is running" + (limit.map { ", limited to \($0)" } ?? "") + "."
            + (yielding.map { " \($0.sentence)" } ?? "")
        // The time is shown in whole seconds.
        guard let slowness, slowness.seconds >= 1 else { return state }
        return "\(state) \(slowness.clause), so the service may start transfers from other hosts in addition."
    }

    /// The rate limit that leaves the transfer the lower rate.
    private var limit: String? {
        let share = serviceLimit.map { Double($0) / Double(max(1, running)) } ?? .infinity
        if let ownLimit, Double(ownLimit) <= share {
            return "\(QuantityText.rate(Double(ownLimit))) by its own limit (--limit-rate)"
        }
        guard let serviceLimit else { return nil }
        let others = running - 1
        let together = others < 1 ? "" : " together with \(others) other \(others == 1 ? "transfer" : "transfers")"
        return "\(QuantityText.rate(Double(serviceLimit)))\(together) by 'nightshift limit'"
    }
}
