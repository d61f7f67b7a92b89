import GRDB

extension Migrations {
    /// Adds a column that finds an existing task for an equal request. This migration follows "0022 unseen ends of
    /// wakes".
    static func registerJoining(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0023 equal requests") { db in
            try db.execute(
                sql: """
                    -- The URL of a task that an equal request is joined to. See docs/decisions/0066.
                    ALTER TABLE tasks ADD COLUMN join_url TEXT;
                    CREATE INDEX tasks_join ON tasks (join_url) WHERE join_url IS NOT NULL AND ended_at IS NULL;
                    """)
        }
    }
}
