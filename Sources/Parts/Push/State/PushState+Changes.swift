package import NightshiftAPI
import Runtime

/// The comparison of the state with the disk.
extension PushState {
    package func changes(since durable: Self) -> PushChanges {
        var changes = PushChanges(outputs: outbox.rows, entries: journal.rows)
        var removed: Set<AppID> = []
        for case .remove(let app) in outbox.rows { removed.insert(app) }
        for (app, record) in apps where removed.contains(app) || durable.apps[app] != record {
            changes.apps[app] = record
        }
        // The budget grows with time alone, so it is not compared.
        if deviceTouched != durable.deviceTouched { changes.device = device }
        let (changed, forgotten) = pushes.changes(since: durable.pushes)
        changes.pushes = changed.sorted { $0.number < $1.number }
        for push in changed { changes.payloads[push.record.id] = payloads[push.record.id] }
        changes.forgotten = forgotten
        return changes
    }

    package mutating func wrote(_ copy: Self) {
        outbox.wrote(copy.outbox)
        journal.wrote(copy.journal)
        pushes.wrote(copy.pushes)
    }

    mutating func becomeDurable() {
        pushes.removeValues()
        (payloads, order) = ([:], [])
    }

    /// Returns the apps whose processes now get a notice about their token, and clears the list.
    package mutating func takeTold() -> Set<AppID> {
        defer { told = [] }
        return told
    }
}
