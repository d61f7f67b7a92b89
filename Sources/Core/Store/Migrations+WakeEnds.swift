import GRDB

extension Migrations {
    /// Allows ends of wakes without an observed result. This migration follows "0020 folders of tasks".
    static func registerWakeEnds(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0022 unseen ends of wakes") { db in
            try db.execute(
                sql: """
                    -- NULL as a result: nobody saw what came of the wake. See docs/decisions/0059.
                    CREATE TABLE unseen_wake_ends (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL,
                        source TEXT NOT NULL CHECK (source IN ('fetch', 'push', 'processing', 'continued')),
                        key TEXT NOT NULL,
                        wake INTEGER NOT NULL,
                        result TEXT CHECK (result IN ('newData', 'noData', 'failed')),
                        detail TEXT,
                        ended_at REAL NOT NULL
                    ) STRICT;
                    INSERT INTO unseen_wake_ends (id, app, source, key, wake, result, detail, ended_at)
                        SELECT id, app, source, key, wake, result, detail, ended_at FROM wake_ends;
                    INSERT INTO sqlite_sequence (name, seq) SELECT 'unseen_wake_ends', 0
                        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'unseen_wake_ends');
                    UPDATE sqlite_sequence SET seq = max(seq, coalesce(
                            (SELECT old.seq FROM sqlite_sequence AS old WHERE old.name = 'wake_ends'), 0))
                        WHERE name = 'unseen_wake_ends';
                    DROP TABLE wake_ends;
                    ALTER TABLE unseen_wake_ends RENAME TO wake_ends;
                    """)
        }
    }
}
