import Foundation
import GRDB
package import NightshiftAPI

/// A scheduled task that an app submitted. It is stored until it has ended. Times are in seconds since 1970.
package struct StoredScheduledTask: Hashable, Sendable {
    package var app: AppID
    package var task: ScheduledTask
    package var submitted: Double
    /// The time since which the task has been running; nil while it waits.
    package var began: Double?
    package var progress: ScheduledTaskProgress?

    package init(app: AppID, task: ScheduledTask, submitted: Double) {
        self.app = app
        self.task = task
        self.submitted = submitted
    }

    package var key: Key { Key(app: app, identifier: task.identifier, isRunning: began != nil) }

    /// The key of a scheduled task. A running task and a waiting task may have the same identifier.
    package struct Key: Hashable, Sendable {
        package var app: AppID
        package var identifier: String
        package var isRunning: Bool

        package init(app: AppID, identifier: String, isRunning: Bool) {
            self.app = app
            self.identifier = identifier
            self.isRunning = isRunning
        }
    }
}

/// The readable rows of background refresh, and the names of the unreadable rows.
package struct StoredRefresh<App: Sendable, Device: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    package var device: Device?
    package var tasks: [StoredScheduledTask] = []
    package var unreadable: [String] = []

    package init() {}
}

/// The stored state of background refresh, and the tasks that apps have submitted. The feature defines the form of the
/// records.
extension StoreTransaction {
    /// Returns all rows. An unreadable row does not affect other rows.
    package func refresh<App: Decodable & Sendable, Device: Decodable & Sendable>(
        _ app: App.Type, _ device: Device.Type
    ) throws -> StoredRefresh<App, Device> {
        var kept = StoredRefresh<App, Device>()
        try readRecords(in: .refresh, into: &kept.apps, unreadable: &kept.unreadable)
        kept.device = try readDeviceRecord(in: .refresh, unreadable: &kept.unreadable)
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM scheduled_tasks ORDER BY app, identifier, running")
        for row in rows {
            if let task = Self.scheduledTask(row) {
                kept.tasks.append(task)
            } else {
                let (app, identifier): (String, String) = (row["app"], row["identifier"])
                kept.unreadable.append("scheduled task '\(identifier)' of \(app)")
            }
        }
        return kept
    }

    package func putRefresh(_ record: some Encodable, of app: AppID) throws {
        try putRecord(record, of: app, in: .refresh)
    }

    package func putRefreshOfDevice(_ record: some Encodable) throws {
        try putDeviceRecord(record, in: .refresh)
    }

    /// Deletes the refresh state of a removed app, including its tasks and the ends of its wakes.
    package func deleteRefresh(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.refresh.apps, "scheduled_tasks")
        try deleteWakes(of: app, by: [.fetch, .processing, .continued], from: "wakes", "wake_ends")
    }

    // MARK: - Bytes

    /// Returns the number of bytes that an app's transfers received and sent, according to their rows.
    package func transferBytes(of app: AppID) throws -> Int64 {
        // The sum is REAL, because an overflow of an integer sum is a database error.
        let sum =
            try Double.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT total(tasks.received) + total(tasks.sent) FROM tasks
                        JOIN sessions ON tasks.session = sessions.id WHERE sessions.app = ?
                        """), arguments: [app.rawValue]) ?? 0
        return Int64(saturating: sum)
    }

    /// Records the number of bytes that an app had transferred at the start of a fetch. It must be called after
    /// ``putRefresh(_:of:)``.
    package func noteFetchBegins(of app: AppID) throws {
        try db.cachedStatement(sql: "UPDATE refresh_apps SET begun_bytes = ? WHERE app = ?")
            .execute(arguments: [try transferBytes(of: app), app.rawValue])
    }

    /// Returns the number of bytes that an app's transfers have received and sent since its last fetch began. Deleted
    /// rows are not included.
    package func bytesSinceFetchBegan(of app: AppID) throws -> Int64 {
        let begun = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT begun_bytes FROM refresh_apps WHERE app = ?"), arguments: [app.rawValue])
        guard let begun else { return 0 }
        return max(0, try transferBytes(of: app) - begun)
    }

    // MARK: - Scheduled tasks

    package func put(_ task: StoredScheduledTask) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO scheduled_tasks
                    (app, identifier, running, kind, task, submitted_at, began_at, progress)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            task.app.rawValue, task.task.identifier, task.began != nil, task.task.kind.rawValue,
            try Columns.encode(task.task), task.submitted, task.began, try Columns.encodeIfPresent(task.progress),
        ])
    }

    package func deleteScheduledTask(_ key: StoredScheduledTask.Key) throws {
        try db.cachedStatement(sql: "DELETE FROM scheduled_tasks WHERE app = ? AND identifier = ? AND running = ?")
            .execute(arguments: [key.app.rawValue, key.identifier, key.isRunning])
    }

    /// Returns the task of a row; nil if the row is invalid.
    private static func scheduledTask(_ row: Row) -> StoredScheduledTask? {
        guard let task = try? Columns.decode(ScheduledTask.self, row["task"]), task.identifier == row["identifier"],
            task.kind.rawValue == row["kind"]
        else { return nil }
        var stored = StoredScheduledTask(
            app: AppID(rawValue: row["app"]), task: task, submitted: row["submitted_at"])
        let isRunning: Bool = row["running"]
        if isRunning { stored.began = row["began_at"] ?? stored.submitted }
        stored.progress = try? Columns.decodeIfPresent(ScheduledTaskProgress.self, row["progress"])
        return stored
    }

    // MARK: - Use

    /// Deletes the journal entries that show when an app was used, such as its states and manual launches.
    ///
    /// - Parameter app: The app; nil for all apps and the use of the device.
    package func deleteUse(of app: AppID? = nil) throws {
        for decision in [Decision.useBegan, .useEnded, .appEntered] {
            try db.execute(
                sql: "DELETE FROM journal WHERE decision = ?1 AND (?2 IS NULL OR app = ?2)",
                arguments: [decision.rawValue, app?.rawValue])
        }
        for words in LaunchWords.ofUse {
            try db.execute(
                sql: """
                    DELETE FROM journal WHERE decision = ?1 AND (?2 IS NULL OR app = ?2)
                        AND substr(detail, 1, length(?3)) = ?3
                    """,
                arguments: [Decision.appLaunched.rawValue, app?.rawValue, words])
        }
        if app == nil { try deleteUseOfDevice() }
    }

    /// Deletes entries that show when the device was used: the ends of doze, and the condition `idle`.
    private func deleteUseOfDevice() throws {
        let doze: [Decision] = [.dozeBegan, .dozeEnded, .windowOpened, .windowClosed]
        for decision in doze {
            try db.execute(sql: "DELETE FROM journal WHERE decision = ?", arguments: [decision.rawValue])
        }
        let select = "SELECT id, inputs, detail FROM journal WHERE decision = ? AND inputs IS NOT NULL"
        let rows = try Row.fetchAll(db, sql: select, arguments: [Decision.deviceChanged.rawValue])
        for row in rows {
            guard var inputs = try? Columns.decode([String: String].self, row["inputs"]),
                inputs.removeValue(forKey: "idle") != nil
            else { continue }
            guard !inputs.isEmpty else {
                try db.execute(sql: "DELETE FROM journal WHERE id = ?", arguments: [row["id"] as Int64])
                continue
            }
            // The text of a change also names each condition. For the start of the service, the conditions are only in
            // the inputs of the entry.
            let detail = (row["detail"] as String?).flatMap { $0.contains("idle: ") ? nil : $0 }
            try db.execute(
                sql: "UPDATE journal SET inputs = ?, detail = ? WHERE id = ?",
                arguments: [try Columns.encode(inputs), detail, row["id"] as Int64])
        }
    }
}
