import GRDB

/// The schema's history. Migrations are only ever appended, and use no type of the project.
enum Migrations {
    static let all: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("0001 transfers") { db in
            try db.execute(
                sql: """
                    -- The last reading of the clocks: what boot seconds in the other tables are relative to.
                    CREATE TABLE clock (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        boot_id TEXT NOT NULL,
                        boot_seconds REAL NOT NULL,
                        wall_seconds REAL NOT NULL
                    ) STRICT;

                    CREATE TABLE settings (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        rate_limit INTEGER CHECK (rate_limit > 0),
                        maximum_transfers INTEGER NOT NULL CHECK (maximum_transfers > 0)
                    ) STRICT;

                    CREATE TABLE sessions (
                        id INTEGER PRIMARY KEY,
                        identifier TEXT NOT NULL UNIQUE CHECK (length(identifier) > 0),
                        settings TEXT NOT NULL,
                        next_task_identifier INTEGER NOT NULL DEFAULT 1
                    ) STRICT;

                    -- The tasks of one session with one origin: what a limit of connections counts.
                    CREATE TABLE lanes (
                        id INTEGER PRIMARY KEY,
                        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                        origin TEXT NOT NULL,
                        UNIQUE (session, origin)
                    ) STRICT;

                    -- 'running' is never stored: a task that runs is one that waits, to whoever comes after a crash.
                    CREATE TABLE tasks (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                        identifier INTEGER NOT NULL,
                        lane INTEGER NOT NULL REFERENCES lanes (id) ON DELETE CASCADE,
                        kind TEXT NOT NULL CHECK (kind IN ('download', 'upload')),
                        state TEXT NOT NULL CHECK (
                            state IN ('suspended', 'waiting', 'finishing', 'completed', 'failed', 'cancelled')),
                        priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
                        large INTEGER NOT NULL DEFAULT 0 CHECK (large IN (0, 1)),
                        not_before REAL,
                        begin_at REAL,
                        wait_reason TEXT,
                        wait_since REAL,
                        wait_detail TEXT,
                        deadline REAL,
                        time_left REAL,
                        created_at REAL NOT NULL,
                        started_at REAL,
                        ended_at REAL,
                        request TEXT NOT NULL,
                        source TEXT,
                        partial TEXT,
                        publication TEXT,
                        current_url TEXT,
                        response TEXT,
                        last_error TEXT,
                        error TEXT,
                        received INTEGER NOT NULL DEFAULT 0,
                        sent INTEGER NOT NULL DEFAULT 0,
                        file TEXT,
                        verified TEXT,
                        attempts INTEGER NOT NULL DEFAULT 0,
                        restarts INTEGER NOT NULL DEFAULT 0,
                        failures INTEGER NOT NULL DEFAULT 0,
                        resume_data TEXT UNIQUE,
                        CHECK ((ended_at IS NULL) = (state NOT IN ('completed', 'failed', 'cancelled')))
                    ) STRICT;

                    CREATE INDEX tasks_ready ON tasks (lane, large, priority DESC, id)
                        WHERE state = 'waiting' AND not_before IS NULL AND begin_at IS NULL;
                    CREATE INDEX tasks_not_before ON tasks (not_before)
                        WHERE state = 'waiting' AND not_before IS NOT NULL;
                    CREATE INDEX tasks_begin_at ON tasks (begin_at)
                        WHERE state = 'waiting' AND begin_at IS NOT NULL;
                    CREATE INDEX tasks_deadline ON tasks (deadline)
                        WHERE state = 'waiting' AND deadline IS NOT NULL;
                    CREATE INDEX tasks_session ON tasks (session, identifier);
                    CREATE INDEX tasks_lane ON tasks (lane);
                    CREATE INDEX tasks_state ON tasks (state) WHERE state <> 'waiting';

                    CREATE TABLE journal (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        time REAL NOT NULL,
                        decision TEXT NOT NULL,
                        task INTEGER,
                        session INTEGER,
                        wait_reason TEXT,
                        wait_since REAL,
                        wait_until REAL,
                        error TEXT,
                        detail TEXT
                    ) STRICT;
                    CREATE INDEX journal_task ON journal (task, id) WHERE task IS NOT NULL;
                    """)
        }
        return migrator
    }()
}
