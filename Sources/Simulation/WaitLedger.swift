import NightshiftAPI

/// The total waiting times of transfers, for each reason.
struct WaitLedger {
    private var reasons: [WaitReason: Sum] = [:]

    private struct Sum {
        var seconds = 0.0
        var longest = 0.0
        var transfers: Set<Int> = []
    }

    mutating func add(_ reason: WaitReason, _ transfer: Int, _ seconds: Double) {
        guard seconds > 0 else { return }
        reasons[reason, default: Sum()].seconds += seconds
        reasons[reason, default: Sum()].transfers.insert(transfer)
        reasons[reason, default: Sum()].longest = max(reasons[reason, default: Sum()].longest, seconds)
    }

    /// The totals in the order of `WaitReason`.
    var totals: [WaitTotals] {
        WaitReason.allCases.compactMap { reason in
            reasons[reason].map {
                WaitTotals(
                    reason: reason, transfers: $0.transfers.count, sum: VirtualClock.milliseconds($0.seconds),
                    longest: VirtualClock.milliseconds($0.longest))
            }
        }
    }
}
