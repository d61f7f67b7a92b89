import GRDB

extension Migrations {
    /// Adds columns for unreadable settings, and for expiry times that a wrong clock does not affect. This migration
    /// follows "0014 unifiedpush".
    static func registerExpiry(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0015 replaced settings") { db in
            try db.execute(
                sql: """
                    -- Settings that made no sense when they were replaced.
                    ALTER TABLE device ADD COLUMN replaced_settings TEXT;
                    """)
        }
        migrator.registerMigration("0016 expiry") { db in
            try db.execute(
                sql: """
                    -- When a wake is given up, in seconds that were seen to pass (clock.seen_before and the present boot's), in
                    -- place of seconds since 1970: a wall clock that is wrong ends nothing. Wakes that wait wait as long again.
                    ALTER TABLE wakes ADD COLUMN expires_seen REAL;
                    UPDATE wakes SET expires_seen = max(0, expires_at - created_at)
                            + coalesce((SELECT seen_before + boot_seconds FROM clock), 0)
                        WHERE expires_at IS NOT NULL;
                    ALTER TABLE wakes DROP COLUMN expires_at;
                    """)
        }
    }
}
