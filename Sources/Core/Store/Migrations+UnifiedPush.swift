import GRDB

extension Migrations {
    /// Adds the tables of UnifiedPush. This migration follows "0013 push".
    static func registerUnifiedPush(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0014 unifiedpush") { db in
            try db.execute(
                sql: """
                    -- Registrations of apps, by their topics at the gateway: JSON.
                    CREATE TABLE unified_push_registrations (
                        topic TEXT PRIMARY KEY CHECK (length(topic) > 0),
                        record TEXT NOT NULL
                    ) STRICT;

                    -- Messages that came: those that wait for their app, with their bytes, and those that are done, by which a second
                    -- delivery is known.
                    CREATE TABLE unified_push_messages (
                        id TEXT PRIMARY KEY CHECK (length(id) > 0),
                        topic TEXT NOT NULL,
                        record TEXT NOT NULL,
                        payload BLOB CHECK (length(payload) <= 5120)
                    ) STRICT;
                    """)
        }
    }
}
