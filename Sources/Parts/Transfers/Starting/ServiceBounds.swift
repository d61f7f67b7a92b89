package import NightshiftAPI
import Scheduler
package import Store

/// The current limits of the service: those of the device state and those of the user's settings. This is a pure value.
package struct ServiceBounds: Sendable {
    package var moment: DeviceState
    private var stored = StoredValue(ServiceLimits())
    private var yieldRules = YieldRules()
    private var cancellations = CancellationRequests()

    package init(_ moment: DeviceState) {
        self.moment = moment
    }

    package var limits: ServiceLimits { stored.value }

    /// Stores the user's limits.
    ///
    /// - Parameter order: the value of ``StoreTransaction/order()`` after the limits were written.
    package mutating func take(_ limits: ServiceLimits, _ order: Int64) {
        stored.take(limits, order)
        yieldRules.mode = self.limits.yield
    }

    /// Takes the news that an app came to the foreground or left it. Returns whether it changed anything.
    package mutating func use(_ app: AppID, isInFront: Bool) -> Bool { yieldRules.use(app, isInFront: isInFront) }

    /// Returns whether a task's transfer yields to other traffic now.
    package func yields(_ record: TaskRecord) -> Bool { yieldRules.yields(record) }

    package var isSleeping: Bool { moment.conditions.isSleeping }

    /// Returns the reason why a task has to wait now; nil if it may run.
    package func hold(_ record: TaskRecord) -> WaitReason? { record.needs.hold(moment) }

    /// Returns an explanation of the reason for the journal and `why`; nil if the reason needs no explanation.
    package func detail(of reason: WaitReason, _ record: TaskRecord) -> String? {
        record.needs.detail(of: reason, moment)
    }

    /// Returns the values that decide whether a task may run.
    package func inputs(_ record: TaskRecord) -> [String: String] { record.needs.inputs(moment) }

    /// Returns whether the network that a task uses requires a log-in first (captive portal).
    package func isBehindPortal(_ record: TaskRecord) -> Bool {
        moment.conditions.network.connectivity == .portal && !record.needs.isLoopback
    }

    /// Returns the rate in bytes per second below which a transfer of the task is slow.
    package func leastPace(of record: TaskRecord) -> Double {
        Pace.minimum(
            ownLimit: record.request.rateLimit, serviceLimit: limits.rateLimit, transfers: limits.maximumTransfers)
    }

    /// Returns the seconds without a byte that are normal for a transfer of the task at its rate limits.
    package func longestGap(of record: TaskRecord, running: Int) -> Double {
        Pace.gap(ownLimit: record.request.rateLimit, serviceLimit: limits.rateLimit, running: running)
    }

    /// Begins a request that asks a task's server to delete an upload. Allowed only while a network is available, and
    /// for a few requests at the same time.
    ///
    /// - Returns: whether the request may be sent now. If so, ``endCancellation()`` must follow.
    package mutating func beginCancellation(of record: TaskRecord) -> Bool {
        guard moment.conditions.network.isAvailable || record.needs.isLoopback else { return false }
        return cancellations.begin()
    }

    package mutating func endCancellation() { cancellations.end() }
}
