package import NightshiftAPI
import Runtime
package import Store

extension AppsState {
    package func changes(since durable: AppsState) -> AppChanges {
        AppChanges(
            removed: removed.rows,
            rows: touched.changed(since: durable.touched).map { ($0, machines[$0]?.record) },
            journal: journal.rows, ends: ends.rows, fronts: fronts.rows)
    }

    package mutating func wrote(_ copy: AppsState) {
        touched.wrote(copy.touched)
        journal.wrote(copy.journal)
        ends.wrote(copy.ends)
        fronts.wrote(copy.fronts)
        removed.wrote(copy.removed)
    }

    package mutating func becomeDurable() { machines = MachineTable() }
}

/// The changes of apps that one transaction writes.
package struct AppChanges: StateChanges {
    var removed: [AppID]
    /// The records of changed apps; nil for an app without a record.
    var rows: [(app: AppID, record: AppRecord?)]
    var journal: [JournalEntry]
    var ends: [FinishedWake]
    var fronts: [AppID]

    package var isEmpty: Bool {
        removed.isEmpty && rows.isEmpty && journal.isEmpty && ends.isEmpty && fronts.isEmpty
    }

    func concern(_ app: AppID) -> Bool {
        rows.contains { $0.app == app } || journal.contains { $0.app == app } || ends.contains { $0.wake.app == app }
            || fronts.contains(app) || removed.contains(app)
    }

    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        // This deletes the rows of all parts. So even a crash before the parts receive the event leaves no rows that a
        // later app with this id would inherit.
        for app in removed { try each { try transaction.deleteEverything(of: app) } }
        for (app, record) in rows {
            try each {
                // A program without a desktop entry is stored only while it runs.
                if let record, !app.isProgram || record.process != nil {
                    try transaction.put(record)
                } else {
                    try transaction.deleteApp(app)
                }
            }
        }
        for entry in journal { try each { try transaction.record(entry) } }
        for end in ends { try each { try transaction.finishWake(end.wake, end.outcome.end(at: end.time)) } }
        // A task that is being added reads the app's row in its own transaction. If that transaction comes first, the
        // task is unblocked here. If it comes later, the task is not blocked.
        for app in fronts { try each { try transaction.liftHolds(of: app, at: reading.date) } }
    }
}
