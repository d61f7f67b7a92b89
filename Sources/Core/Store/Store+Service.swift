import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// Stores a reading of the clocks. From this, the service knows after a boot how long the machine was off.
    package func putClock(_ now: ClockReading) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO clock (id, boot_id, boot_seconds, wall_seconds) VALUES (1, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET boot_id = excluded.boot_id, boot_seconds = excluded.boot_seconds,
                    wall_seconds = excluded.wall_seconds
                """
        ).execute(arguments: [now.bootID, now.bootSeconds, now.wallSeconds])
    }

    /// Converts every boot time in the database to the clock of the current boot.
    func moveIntoPresentBoot(_ now: ClockReading) throws {
        if let row = try Row.fetchOne(db, sql: "SELECT * FROM clock") {
            let last = ClockReading(
                bootID: row["boot_id"], bootSeconds: row["boot_seconds"], wallSeconds: row["wall_seconds"])
            if last.bootID != now.bootID {
                // With a wrong wall clock, a pause may end too early, but a task must not end too early.
                try db.execute(
                    sql: """
                        UPDATE tasks SET deadline = deadline + ?1, loosens_at = loosens_at + ?1,
                            not_before = not_before + ?2
                        WHERE ended_at IS NULL
                        """,
                    arguments: [now.seenShift(from: last), now.shift(from: last)])
                try db.execute(sql: "UPDATE clock SET seen_before = seen_before + boot_seconds")
            }
        }
        try putClock(now)
    }

    /// Returns the number of seconds that the service observed before the current boot. The sum of this number and the
    /// boot seconds is the observed time. A row that is deleted after a period uses the observed time, because the wall
    /// clock may be wrong.
    package func secondsSeenBefore() throws -> Double {
        try Double.fetchOne(db, sql: "SELECT seen_before FROM clock") ?? 0
    }

    package func settings() throws -> ServiceSettings? {
        try Row.fetchOne(db, sql: "SELECT * FROM settings").map {
            ServiceSettings(
                rateLimit: $0["rate_limit"], maximumTransfers: $0["maximum_transfers"],
                yield: ($0["yield"] as String?).flatMap(YieldMode.init(rawValue:)))
        }
    }

    /// Writes all settings together. Only the rate limit may be nil.
    package func put(rateLimit: Int64?, maximumTransfers: Int, yield: YieldMode) throws {
        try db.execute(
            sql: """
                INSERT INTO settings (id, rate_limit, maximum_transfers, yield) VALUES (1, ?1, ?2, ?3)
                ON CONFLICT (id) DO UPDATE SET rate_limit = ?1, maximum_transfers = ?2, yield = ?3
                """, arguments: [rateLimit, maximumTransfers, yield.rawValue])
    }
}
