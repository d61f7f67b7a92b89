import GRDB

extension Migrations {
    /// Adds the column for suspect responses. This migration follows "0018 destinations".
    static func registerDoubts(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("0019 first answers") { db in
            try db.execute(
                sql: """
                    -- A first answer that is not taken for the file yet, as JSON; of later ones the column partial tells.
                    ALTER TABLE tasks ADD COLUMN first_doubt TEXT;
                    """)
        }
    }
}
