import Foundation
package import NightshiftAPI
import Scheduler
import Store

/// Handling of changes of the device state, which take effect on transfers at once.
extension TransferService {
    /// Applies a new device state. Transfers that are no longer allowed are interrupted and keep their bytes, and
    /// allowed transfers are admitted.
    ///
    /// The last device state before ``run()`` is the initial one.
    package func apply(_ moment: DeviceState) async {
        let old = bounds.moment
        bounds.moment = moment
        guard life.isRunning else { return }
        for action in DeviceStateChange.actions(from: old, to: moment, now: now) {
            switch action {
            case .checkConnections:
                environment.transport.forgetConnections()
                putOnProbation()
            case .stopForbidden: stopForbidden()
            case .endPortalWaits: _ = try? await store.write { try $0.endPortalPauses() }
            case .note(let entry, let endsPauses): await note(entry, endsPauses: endsPauses)
            case .admit: await schedule()
            }
        }
    }

    /// Returns the initial waits of new tasks that the device state blocks, with the indices of these tasks.
    func heldFromTheFirst(_ records: [TaskRecord], _ now: ClockReading) -> [(index: Int, entry: JournalEntry)] {
        let classes = records.map { record in
            record.state == .waiting && record.notBefore == nil && record.beginAt == nil ? record.needs : nil
        }
        return RequirementClass.heldFromTheFirst(classes, bounds.moment, now)
    }

    private func stopForbidden() {
        for transfer in active.values {
            let actions = transfer.run.momentChanged(bounds.moment, awaitsResponse: transfer.awaitsResponse)
            if actions.contains(.cancel) { cancelExchange(transfer) }
        }
    }

    private func note(_ entry: JournalEntry, endsPauses: Bool) async {
        if endsPauses { hosts.networkReturned() }
        _ = try? await store.write { transaction in
            try transaction.record(entry)
            if endsPauses { try transaction.endPauses(origin: nil) }
        }
    }

    // MARK: Connection checks

    /// Gives all running transfers a short time to show that their connections still work.
    private func putOnProbation() {
        let awake = now.awakeSeconds
        for transfer in active.values where !transfer.handles.isEmpty {
            transfer.run.doubtConnection(
                count: transfer.count, awaitsResponse: transfer.awaitsResponse, awake: awake)
        }
    }

    /// Interrupts transfers that received no bytes during their connection check.
    func endProbations() {
        let awake = now.awakeSeconds
        for transfer in active.values where transfer.run.connectionCheck != nil {
            let actions = transfer.run.probationTick(
                count: transfer.count, awaitsResponse: transfer.awaitsResponse, awake: awake)
            if actions.contains(.cancel) { cancelExchange(transfer) }
        }
    }

    /// The boot second at which the next connection check ends, if the machine stays awake.
    var nextProbationEnd: Double? {
        let now = now
        let first = active.values.compactMap(\.run.connectionCheck?.until).min()
        return first.map { now.bootSeconds + max(0, $0 - now.awakeSeconds) }
    }
}
