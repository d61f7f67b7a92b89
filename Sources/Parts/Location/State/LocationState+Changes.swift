import NightshiftAPI
import Runtime
import Scheduler

/// The comparison of the state with the disk.
extension LocationState {
    package func changes(since durable: Self) -> LocationChanges {
        var changes = LocationChanges(outputs: outbox.rows, entries: journal.rows)
        var removed: Set<AppID> = []
        for case .remove(let app) in outbox.rows { removed.insert(app) }
        var (records, isReason) = ([AppID: LocationRecord](), !changes.isEmpty || writesReceiver)
        for (app, record) in apps {
            let earlier = removed.contains(app) ? nil : durable.apps[app]
            guard record != earlier else { continue }
            records[app] = record
            isReason = isReason || record.withoutReceiver != earlier?.withoutReceiver
        }
        if bootID != durable.bootID && !apps.isEmpty || !plan.hasSameSides(as: durable.plan) {
            var kept = plan
            // The stored plan contains the side of each boundary. It does not contain the last location, and a region
            // event in progress is detected again.
            kept.restarted()
            changes.device = DeviceLocationRecord(bootID: bootID, plan: kept)
        }
        // A change of the receiver's seconds alone does not cause a write.
        if isReason || changes.device != nil { changes.apps = records }
        return changes
    }

    package mutating func wrote(_ copy: Self) {
        outbox.wrote(copy.outbox)
        journal.wrote(copy.journal)
        if receiverSince == copy.receiverSince { (receiverSince, writesReceiver) = (nil, false) }
    }

    /// Includes the receiver's seconds in the next write.
    package mutating func writeAll() { writesReceiver = true }

    /// The maximum number of seconds for which changed receiver seconds stay in memory only.
    static let longestDelay = 600.0
}

extension LocationRecord {
    fileprivate var withoutReceiver: LocationRecord {
        var record = self
        record.receiver = ReceiverTime()
        return record
    }
}
