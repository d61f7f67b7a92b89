import GRDB
package import NightshiftAPI

/// The result of a wake.
package struct WakeEnd: Hashable, Sendable {
    /// The reported result; nil if the service did not observe it.
    package var result: RefreshResult?
    /// The reason for an end that the app did not report.
    package var detail: String?
    /// The time of the end, in seconds since 1970.
    package var time: Double

    package init(result: RefreshResult?, detail: String? = nil, time: Double) {
        self.result = result
        self.detail = detail
        self.time = time
    }
}

/// A row of ``StoreTransaction/wakeEnds(of:)``: the end of a wake that no feature has processed yet.
package struct StoredWakeEnd: Hashable, Sendable {
    package var id: Int64
    package var app: AppID
    package var source: WakeSource
    package var key: String
    /// The number of the wake: ``WantedWake/through``.
    package var wake: Int64
    package var end: WakeEnd

    package init(id: Int64, app: AppID, source: WakeSource, key: String, wake: Int64, end: WakeEnd) {
        self.id = id
        self.app = app
        self.source = source
        self.key = key
        self.wake = wake
        self.end = end
    }
}

/// The ends of wakes. A row is written in the transaction of the end, and deleted by the feature that processes it. An
/// end is therefore neither lost nor processed twice.
extension StoreTransaction {
    func putWakeEnd(_ wake: WantedWake, _ end: WakeEnd) throws {
        try db.cachedStatement(
            sql: "INSERT INTO wake_ends (app, source, key, wake, result, detail, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            wake.app.rawValue, wake.source.rawValue, wake.key, wake.through, end.result?.rawValue, end.detail, end.time,
        ])
    }

    /// Returns the unprocessed ends of wakes, in order. A feature reads the ends for its own sources.
    package func wakeEnds(of sources: Set<WakeSource> = Set(WakeSource.allCases)) throws -> [StoredWakeEnd] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id, app, source, key, wake, result, detail, ended_at FROM wake_ends ORDER BY id"))
        return try rows.compactMap { row in
            let word: String? = row["result"]
            let result = word.flatMap(RefreshResult.init(rawValue:))
            guard let source = WakeSource(rawValue: row["source"]), result != nil || word == nil else {
                throw StoreError(.damaged, "The end of wake \(row["wake"] as Int64) cannot be read.")
            }
            guard sources.contains(source) else { return nil }
            return StoredWakeEnd(
                id: row["id"], app: AppID(rawValue: row["app"]), source: source, key: row["key"], wake: row["wake"],
                end: WakeEnd(result: result, detail: row["detail"], time: row["ended_at"]))
        }
    }

    /// Deletes processed ends.
    package func deleteWakeEnds(_ ids: some Sequence<Int64>) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM wake_ends WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}
