import NightshiftAPI
import Runtime
import Scheduler
import Store

/// The comparison of the state with the disk.
extension RefreshState {
    package func changes(since durable: Self) -> RefreshChanges {
        var changes = RefreshChanges(outputs: outbox.rows, entries: journal.rows)
        var removed: Set<AppID> = []
        for case .remove(let app) in outbox.rows { removed.insert(app) }
        // The planner's values change with time alone, so they are not compared.
        for id in touched.changed(since: durable.touched).union(removed) {
            guard let planned = planner.apps[id] else { continue }
            changes.apps[id] = RefreshRecord(planned: planned, known: apps[id] ?? KnownApp())
        }
        if deviceTouched != durable.deviceTouched {
            changes.device = DeviceRefreshRecord(
                budget: planner.budget, rhythm: planner.rhythm, isOn: isOn, tellsUse: tellsUse)
        }
        if tasks != durable.tasks || !removed.isEmpty {
            let earlier = durable.tasks.filter { !removed.contains($0.key.app) }
            for (key, task) in tasks where earlier[key] != task { changes.tasks.updateValue(task, forKey: key) }
            for key in earlier.keys where tasks[key] == nil { changes.tasks.updateValue(nil, forKey: key) }
        }
        if endsThrough > durable.endsThrough { changes.endsThrough = endsThrough }
        return changes
    }

    package mutating func wrote(_ copy: Self) {
        outbox.wrote(copy.outbox)
        journal.wrote(copy.journal)
        touched.wrote(copy.touched)
    }

    /// Records that an app's record has to be written.
    mutating func touch(_ app: AppID) { touched.touch(app) }

    /// Records that the device's record has to be written.
    mutating func touchDevice() { deviceTouched += 1 }
}
