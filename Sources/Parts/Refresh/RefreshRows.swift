package import NightshiftAPI
import Runtime
package import Store

extension RefreshChanges: StateChanges {
    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for case .remove(let app) in outputs { try each { try transaction.deleteRefresh(of: app) } }
        // Deletions come first, because a task that begins to run replaces its waiting row.
        for (key, task) in tasks where task == nil { try each { try transaction.deleteScheduledTask(key) } }
        for task in tasks.values { if let task { try each { try transaction.put(task) } } }
        for (app, record) in apps { try each { try transaction.putRefresh(record, of: app) } }
        if let device { try each { try transaction.putRefreshOfDevice(device) } }
        for wake in outputs.compactMap(\.wake) {
            try each {
                try transaction.putWake(
                    wake.app, wake.source, key: wake.key, payload: try wake.task.map { try JSON.encode($0) },
                    timeout: wake.timeout, now: reading)
                if wake.source == .fetch { try transaction.noteFetchBegins(of: wake.app) }
            }
        }
        for entry in entries { try each { try transaction.record(entry) } }
        // The deletion comes last, because the entries of this transaction may contain the use.
        for case .forgetUse(let app) in outputs { try each { try transaction.deleteUse(of: app) } }
        guard let through = endsThrough else { return }
        try each {
            let taken = try transaction.wakeEnds(of: RefreshService.sources).map(\.id).filter { $0 <= through }
            try transaction.deleteWakeEnds(taken)
        }
    }
}
