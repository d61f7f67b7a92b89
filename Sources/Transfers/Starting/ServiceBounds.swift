package import NightshiftAPI
import Scheduler
package import Store

/// What the service may use: what the device allows at this moment, and what its user does. Pure.
package struct ServiceBounds: Sendable {
    package var moment: DeviceMoment
    private var stored = StoredValue(ServiceLimits())
    private var cancellations = CancellationRequests()

    package init(_ moment: DeviceMoment) {
        self.moment = moment
    }

    package var limits: ServiceLimits { stored.value }

    /// - Parameter order: ``StoreTransaction/order()`` behind their row.
    package mutating func take(_ limits: ServiceLimits, _ order: Int64) { stored.take(limits, order) }

    package var isSleeping: Bool { moment.conditions.isSleeping }

    /// What a task has to wait for at this moment; nil where it may run.
    package func hold(_ record: TaskRecord) -> WaitReason? { record.needs.hold(moment) }

    /// The same as the journal and `why` tell it; nil where the reason says it all.
    package func detail(of reason: WaitReason, _ record: TaskRecord) -> String? {
        record.needs.detail(of: reason, moment)
    }

    /// What was looked at to decide whether a task may run.
    package func inputs(_ record: TaskRecord) -> [String: String] { record.needs.inputs(moment) }

    /// Whether the network that a task uses says that somebody has to log in before it can be used.
    package func isBehindPortal(_ record: TaskRecord) -> Bool {
        moment.conditions.network.connectivity == .portal && !record.needs.isLoopback
    }

    /// Begins a request that tells a task's server to forget an upload: while there is a network, and a few at a time.
    ///
    /// - Returns: whether it may be made now; then ``endCancellation()``.
    package mutating func beginCancellation(of record: TaskRecord) -> Bool {
        guard moment.conditions.network.isAvailable || record.needs.isLoopback else { return false }
        return cancellations.begin()
    }

    package mutating func endCancellation() { cancellations.end() }
}
