import GRDB

extension Migrations {
    /// Shows the notifications that waited for their app: an alert that waits is now stored with its push. This
    /// migration follows "0023 equal requests".
    static func registerAlerts(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0024 waiting alerts") { db in
            try db.execute(
                sql: """
                    UPDATE notifications SET due_at = CAST(strftime('%s', 'now') AS REAL)
                        WHERE state = 'pending' AND due_at IS NULL;
                    """)
        }
    }
}
