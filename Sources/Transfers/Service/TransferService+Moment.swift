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
        let old = bounds.moment
        bounds.moment = moment
        guard life.isRunning else { return }
        for action in MomentChange.actions(from: old, to: moment, now: now) {
            switch action {
            case .checkConnections:
                environment.transport.forgetConnections()
                putOnProbation()
            case .stopForbidden: stopForbidden()
            case .endPortalWaits: await endPortalWaits()
            case .note(let entry, let endsPauses): await note(entry, endsPauses: endsPauses)
            case .admit: await pump()
            }
        }
    }

    /// What the moment keeps from starting of tasks that are about to be accepted, with their places.
    func heldFromTheFirst(_ records: [TaskRecord], _ now: ClockReading) -> [(index: Int, entry: JournalEntry)] {
        let classes = records.map { record in
            record.state == .waiting && record.notBefore == nil && record.beginAt == nil ? record.needs : nil
        }
        return HeldClass.heldFromTheFirst(classes, bounds.moment, now)
    }

    private func stopForbidden() {
        for (id, transfer) in active {
            let actions = active[id]?.run.momentChanged(bounds.moment, awaitsResponse: transfer.awaitsResponse)
            if actions?.contains(.cancel) == true { cancelExchange(id) }
        }
    }

    private func note(_ entry: JournalEntry, endsPauses: Bool) async {
        if endsPauses { hosts.networkReturned() }
        _ = try? await store.write { transaction in
            try transaction.record(entry)
            if endsPauses { try transaction.endPauses(origin: nil) }
        }
    }

    // MARK: Connections that may be dead

    /// Gives what runs a short time to show that its connection is still one.
    private func putOnProbation() {
        let awake = now.awakeSeconds
        for (id, transfer) in active where !transfer.handles.isEmpty {
            active[id]?.run.doubtConnection(
                count: transfer.count, awaitsResponse: transfer.awaitsResponse, awake: awake)
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
