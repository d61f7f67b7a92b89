import GRDB

extension Migrations {
    /// Adds the tables of remote notifications. This migration follows "0011 location" and "0012 notifications".
    static func registerPush(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0013 push") { db in
            try db.execute(
                sql: """
                    -- A source more, `response`, and room for a push's payload within JSON; see docs/decisions/0044.
                    CREATE TABLE more_wakes (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        source TEXT NOT NULL CHECK (
                            source IN (
                                'fetch', 'push', 'region', 'significantChange', 'processing', 'continued', 'response')),
                        key TEXT NOT NULL,
                        payload BLOB CHECK (length(payload) <= 32768),
                        created_at REAL NOT NULL,
                        expires_at REAL,
                        UNIQUE (app, source, key)
                    ) STRICT;
                    INSERT INTO more_wakes (id, app, source, key, payload, created_at, expires_at)
                        SELECT id, app, source, key, payload, created_at, expires_at FROM wakes;
                    -- Numbers that were given stay given, also those of rows that are gone.
                    INSERT INTO sqlite_sequence (name, seq) SELECT 'more_wakes', 0
                        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'more_wakes');
                    UPDATE sqlite_sequence SET seq = max(seq, coalesce(
                            (SELECT old.seq FROM sqlite_sequence AS old WHERE old.name = 'wakes'), 0))
                        WHERE name = 'more_wakes';
                    DROP TABLE wakes;
                    ALTER TABLE more_wakes RENAME TO wakes;

                    -- The ends of pushes' wakes, too. Each part reads those of its own sources.
                    CREATE TABLE more_wake_ends (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL,
                        source TEXT NOT NULL CHECK (source IN ('fetch', 'push', 'processing', 'continued')),
                        key TEXT NOT NULL,
                        wake INTEGER NOT NULL,
                        result TEXT NOT NULL CHECK (result IN ('newData', 'noData', 'failed')),
                        detail TEXT,
                        ended_at REAL NOT NULL
                    ) STRICT;
                    INSERT INTO more_wake_ends (id, app, source, key, wake, result, detail, ended_at)
                        SELECT id, app, source, key, wake, result, detail, ended_at FROM wake_ends;
                    INSERT INTO sqlite_sequence (name, seq) SELECT 'more_wake_ends', 0
                        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'more_wake_ends');
                    UPDATE sqlite_sequence SET seq = max(seq, coalesce(
                            (SELECT old.seq FROM sqlite_sequence AS old WHERE old.name = 'wake_ends'), 0))
                        WHERE name = 'more_wake_ends';
                    DROP TABLE wake_ends;
                    ALTER TABLE more_wake_ends RENAME TO wake_ends;

                    -- What is known of the device at its gateway, and of the remote notifications of one app: JSON.
                    CREATE TABLE push_device (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        record TEXT NOT NULL
                    ) STRICT;
                    CREATE TABLE push_apps (
                        app TEXT PRIMARY KEY CHECK (length(app) > 0),
                        record TEXT NOT NULL
                    ) STRICT;

                    -- Pushes that came: those that wait, those that an app is woken for, and those that are done, by which a
                    -- second delivery is known. A payload goes when nobody waits for it any more.
                    CREATE TABLE push_messages (
                        id TEXT PRIMARY KEY CHECK (length(id) > 0),
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        record TEXT NOT NULL,
                        payload BLOB CHECK (length(payload) <= 5120),
                        -- The number of the wake that was asked for it.
                        wake INTEGER
                    ) STRICT;
                    CREATE INDEX push_messages_wake ON push_messages (wake) WHERE wake IS NOT NULL;
                    """)
        }
    }
}
