import Device
import Foundation
package import NightshiftAPI
import Scheduler
import Store

/// What the device says: transfers follow it at once.
extension TransferService {
    /// Holds everything to a new moment: what may not go on is interrupted and keeps its bytes, what may run is admitted.
    ///
    /// The last one before ``run()`` is what that begins with.
    package func apply(_ moment: DeviceMoment) async {
        let old = self.moment
        self.moment = moment
        guard moment != old, isRunning else { return }
        let networkChanged = moment.conditions.network.isOther(than: old.conditions.network)
        let woke = old.conditions.isSleeping && !moment.conditions.isSleeping
        if networkChanged || woke {
            environment.transport.forgetConnections()
            putOnProbation()
        }
        stopForbidden()
        if old.conditions.network.connectivity == .portal, moment.conditions.network.connectivity != .portal {
            await endPortalWaits()
        }
        if networkChanged { await note(moment.conditions.network, after: old.conditions.network) }
        await pump()
    }

    /// What a task has to wait for at this moment; nil where it may run.
    func hold(_ record: TaskRecord) -> WaitReason? {
        Permission.hold(record.rules, moment, isLoopback: Self.isLoopback(record.origin))
    }

    /// The same as the journal and `why` tell it.
    func particulars(of reason: WaitReason, _ record: TaskRecord) -> String? {
        Permission.detail(of: reason, record.rules, moment, isLoopback: Self.isLoopback(record.origin))
    }

    func inputs(_ record: TaskRecord) -> [String: String] {
        Permission.inputs(record.rules, moment, isLoopback: Self.isLoopback(record.origin))
    }

    /// What the moment keeps from starting of tasks that are about to be accepted: one entry for all of equal needs, with the
    /// place of the first of them.
    ///
    /// That there is no network is an entry of its own already.
    func heldFromTheFirst(_ records: [TaskRecord], _ now: ClockReading) -> [(index: Int, entry: JournalEntry)] {
        var first: [HeldClass: (index: Int, reason: WaitReason, count: Int)] = [:]
        for (index, record) in records.enumerated()
        where record.state == .waiting && record.notBefore == nil && record.beginAt == nil {
            let key = HeldClass(rules: record.rules, isLoopback: Self.isLoopback(record.origin))
            if first[key] != nil {
                first[key]?.count += 1
            } else if let reason = hold(record), reason != .network {
                first[key] = (index, reason, 1)
            }
        }
        return first.values.sorted { $0.index < $1.index }.map { index, reason, count in
            let particulars = [count > 1 ? "\(count) tasks." : nil, particulars(of: reason, records[index])]
            let detail = particulars.compactMap(\.self).joined(separator: " ")
            return (
                index,
                JournalEntry(
                    time: now.date, decision: .held,
                    wait: Wait(reason: reason, since: now.date, detail: detail.isEmpty ? nil : detail),
                    inputs: inputs(records[index]))
            )
        }
    }

    private func stopForbidden() {
        for (id, transfer) in active where !transfer.isEnding {
            guard let reason = hold(transfer.record) else { continue }
            // Whose bytes are all sent costs nothing any more, and would have to send them again.
            if transfer.awaitsResponse, reason != .network { continue }
            interrupt(
                id,
                .hold(reason, detail: particulars(of: reason, transfer.record), inputs: inputs(transfer.record)))
        }
    }

    /// Writes down what became of the network; what failed for want of it need not wait for its pause to end.
    private func note(_ network: NetworkConditions, after old: NetworkConditions) async {
        let decision: Decision =
            switch (old.isAvailable, network.isAvailable) {
            case (_, false): .networkLost
            case (false, true): .networkReturned
            case (true, true): .networkChanged
            }
        guard old.isAvailable || network.isAvailable else { return }
        let hasNetwork = network.isAvailable
        if hasNetwork { hosts.networkReturned() }
        let now = now
        var conditions = DeviceConditions()
        conditions.network = network
        let keys: [DeviceKey] = [.network, .interface, .networkName, .expensive, .constrained]
        let inputs = keys.reduce(into: [:]) { $0[$1.rawValue] = conditions[$1] }
        _ = try? await store.write { transaction in
            try transaction.record(JournalEntry(time: now.date, decision: decision, inputs: inputs))
            if hasNetwork { try transaction.endPauses(origin: nil) }
        }
    }

    // MARK: Connections that may be dead

    /// Gives what runs a short time to show that its connection is still one.
    private func putOnProbation() {
        let until = now.awakeSeconds + Probation.length
        for (id, transfer) in active where !transfer.handles.isEmpty && !Self.isLoopback(transfer.record.origin) {
            guard !transfer.awaitsResponse else { continue }
            active[id]?.probation = Probation(count: transfer.count, until: until)
        }
    }

    /// Breaks off what has brought nothing in its time.
    func endProbations() {
        let awake = now.awakeSeconds
        for (id, transfer) in active {
            guard transfer.probation != nil else { continue }
            let actions = active[id]?.run.probationTick(
                count: transfer.count, awaitsResponse: transfer.awaitsResponse, awake: awake)
            if actions?.contains(.cancel) == true { cancelExchange(id) }
        }
    }

    /// Boot seconds at which the next probation ends, provided that the machine stays awake.
    var nextProbationEnd: Double? {
        let now = now
        let first = active.values.compactMap(\.probation?.until).min()
        return first.map { now.bootSeconds + max(0, $0 - now.awakeSeconds) }
    }
}

extension NetworkConditions {
    /// Whether connections over `other` are not to be trusted over this one.
    fileprivate func isOther(than other: NetworkConditions) -> Bool {
        isAvailable != other.isAvailable || kind != other.kind || name != other.name
    }
}
