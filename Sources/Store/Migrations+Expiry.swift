import GRDB

extension Migrations {
    /// What unreadable settings and wrong clocks need. Behind "0014 unifiedpush".
    static func registerExpiry(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0015 replaced settings") { db in
            try db.execute(
                sql: """
                    -- Settings that made no sense when they were replaced.
                    ALTER TABLE device ADD COLUMN replaced_settings TEXT;
                    """)
        }
    }
}
