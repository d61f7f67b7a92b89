import GRDB

extension Migrations {
    /// What is kept of answers that are not taken for a file. After "0017 tasks of sessions".
    static func registerDoubts(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0018 first answers") { db in
            try db.execute(
                sql: """
                    -- A first answer that is not taken for the file yet, as JSON; of later ones the column partial tells.
                    ALTER TABLE tasks ADD COLUMN first_doubt TEXT;
                    """)
        }
    }
}
