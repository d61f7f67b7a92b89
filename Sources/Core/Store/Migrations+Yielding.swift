import GRDB

extension Migrations {
    /// Adds the setting that decides which downloads yield to other traffic. This migration follows
    /// "0024 waiting alerts".
    static func registerYielding(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0025 yielding") { db in
            try db.execute(
                sql: """
                    ALTER TABLE settings ADD COLUMN yield TEXT NOT NULL DEFAULT 'auto'
                        CHECK (yield IN ('auto', 'on', 'off'));
                    """)
        }
    }
}
