import GRDB
package import NightshiftAPI

/// What came of a wake.
package struct WakeEnd: Hashable, Sendable {
    /// Nil where nobody saw what came of it.
    package var result: RefreshResult?
    /// Why it ended without a word of the app.
    package var detail: String?
    /// Seconds since 1970.
    package var time: Double

    package init(result: RefreshResult?, detail: String? = nil, time: Double) {
        self.result = result
        self.detail = detail
        self.time = time
    }
}

/// A row of ``StoreTransaction/wakeEnds(of:)``: the end of a wake that was not taken into account yet.
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

extension WakeSource {
    /// Whether somebody waits for what comes of its wakes.
    package var hasResult: Bool {
        switch self {
        case .fetch, .push, .processing, .continued: true
        case .session, .region, .significantChange, .response: false
        }
    }
}

/// How wakes ended: written with their end, and removed by whoever takes it into account, so that none is lost or counts twice.
extension StoreTransaction {
    func putWakeEnd(_ wake: WantedWake, _ end: WakeEnd) throws {
        try db.cachedStatement(
            sql: "INSERT INTO wake_ends (app, source, key, wake, result, detail, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            wake.app.rawValue, wake.source.rawValue, wake.key, wake.through, end.result?.rawValue, end.detail, end.time,
        ])
    }

    /// The ends of wakes that nobody has taken into account yet, in their order. A part reads those of its own sources.
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

    /// These ends are taken into account.
    package func deleteWakeEnds(_ ids: some Sequence<Int64>) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM wake_ends WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}
