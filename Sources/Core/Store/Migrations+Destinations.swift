import GRDB

extension Migrations {
    /// Adds a column that finds other tasks with the same destination file. This migration follows "0017 tasks of
    /// sessions".
    static func registerDestinations(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0018 destinations") { db in
            try db.execute(
                sql: """
                    -- The file that a download was asked to become, where it was given a name.
                    ALTER TABLE tasks ADD COLUMN destination_path TEXT;
                    UPDATE tasks SET destination_path = rtrim(json_extract(request, '$.destination.directory'), '/') || '/'
                            || json_extract(request, '$.destination.filename')
                        WHERE ended_at IS NULL AND CASE WHEN json_valid(request)
                            THEN json_type(request, '$.destination.directory') = 'text'
                                AND json_type(request, '$.destination.filename') = 'text' END;
                    CREATE INDEX tasks_destination ON tasks (destination_path)
                        WHERE destination_path IS NOT NULL AND ended_at IS NULL;
                    """)
        }
    }
}
