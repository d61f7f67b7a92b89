import GRDB

extension Migrations {
    /// Adds indices that keep queries about one session fast, however many tasks there are. This migration follows
    /// "0016 expiry".
    static func registerIndices(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0017 tasks of sessions") { db in
            try db.execute(
                sql: """
                    -- In the order of their ids, which pages follow.
                    CREATE INDEX tasks_of_session ON tasks (session);
                    -- Few among those that have ended. The second column makes these the best index to SQLite.
                    CREATE INDEX tasks_unfinished ON tasks (session, ended_at) WHERE ended_at IS NULL;
                    CREATE INDEX tasks_asked ON tasks (session, question) WHERE question IS NOT NULL;
                    """)
        }
    }
}
