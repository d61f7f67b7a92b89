import GRDB

extension Migrations {
    /// Adds the identity of the destination folder, which distinguishes the folder from another one with the same path.
    /// This migration follows "0019 first answers".
    static func registerFolders(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0020 folders of tasks") { db in
            try db.execute(
                sql: """
                    -- The folder that a download goes to, as it was when the task was accepted: JSON. See docs/decisions/0052.
                    ALTER TABLE tasks ADD COLUMN folder TEXT;
                    """)
        }
    }
}
