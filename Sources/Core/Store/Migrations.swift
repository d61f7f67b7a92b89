import GRDB

/// The history of the schema. New migrations are only added at the end, and they use no type of the project.
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
        migrator.registerMigration("0002 apps") { db in
            try db.execute(
                sql: """
                    -- What is kept of an app beside its desktop entry.
                    CREATE TABLE apps (
                        id TEXT PRIMARY KEY CHECK (length(id) > 0),
                        record TEXT NOT NULL
                    ) STRICT;

                    -- A session of an app: who it belongs to, what the app calls it, whether it may launch the app, and up to
                    -- which message the app was woken.
                    ALTER TABLE sessions ADD COLUMN app TEXT;
                    ALTER TABLE sessions ADD COLUMN name TEXT CHECK ((app IS NULL) = (name IS NULL));
                    ALTER TABLE sessions ADD COLUMN launch_events INTEGER NOT NULL DEFAULT 0
                        CHECK (launch_events IN (0, 1));
                    ALTER TABLE sessions ADD COLUMN woken_through INTEGER NOT NULL DEFAULT 0;
                    CREATE INDEX sessions_app ON sessions (app) WHERE app IS NOT NULL;

                    ALTER TABLE tasks ADD COLUMN client_data TEXT;
                    ALTER TABLE tasks ADD COLUMN continues INTEGER NOT NULL DEFAULT 0 CHECK (continues IN (0, 1));
                    ALTER TABLE tasks ADD COLUMN resumed_at INTEGER;
                    ALTER TABLE tasks ADD COLUMN asks_first INTEGER NOT NULL DEFAULT 0 CHECK (asks_first IN (0, 1));
                    -- What the task waits for its app to answer.
                    ALTER TABLE tasks ADD COLUMN question TEXT CHECK (question IN ('challenge', 'delayedRequest'));
                    DROP INDEX tasks_ready;
                    CREATE INDEX tasks_ready ON tasks (lane, large, priority DESC, id)
                        WHERE state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL;

                    -- What an app has to learn or answer; see docs/decisions/0009.
                    CREATE TABLE messages (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                        task INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
                        kind TEXT NOT NULL CHECK (kind IN ('resumed', 'ended', 'challenge', 'delayedRequest')),
                        challenge TEXT,
                        CHECK ((challenge IS NOT NULL) = (kind = 'challenge')),
                        UNIQUE (task, kind)
                    ) STRICT;
                    CREATE INDEX messages_session ON messages (session, id);

                    -- One trigger for both, so that they are in order when one update brings both.
                    CREATE TRIGGER task_told AFTER UPDATE OF resumed_at, ended_at ON tasks
                    WHEN (NEW.resumed_at IS NOT NULL AND OLD.resumed_at IS NULL
                            OR NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL)
                        AND (SELECT app FROM sessions WHERE id = NEW.session) IS NOT NULL
                    BEGIN
                        INSERT INTO messages (session, task, kind) SELECT NEW.session, NEW.id, 'resumed'
                            WHERE NEW.resumed_at IS NOT NULL AND OLD.resumed_at IS NULL;
                        DELETE FROM messages WHERE task = NEW.id AND kind IN ('challenge', 'delayedRequest')
                            AND NEW.ended_at IS NOT NULL;
                        INSERT INTO messages (session, task, kind) SELECT NEW.session, NEW.id, 'ended'
                            WHERE NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL;
                    END;

                    -- Whoever waited for the same answer asks for itself, unless it finds that answer.
                    CREATE TRIGGER question_gone AFTER DELETE ON messages WHEN OLD.kind = 'challenge'
                    BEGIN
                        UPDATE tasks SET question = NULL, wait_reason = NULL, wait_since = NULL, wait_detail = NULL
                            WHERE session = OLD.session AND state IN ('suspended', 'waiting') AND question = 'challenge'
                                AND NOT EXISTS (
                                    SELECT 1 FROM messages WHERE task = tasks.id AND kind = 'challenge');
                    END;

                    ALTER TABLE journal ADD COLUMN app TEXT;
                    CREATE INDEX journal_app ON journal (app, id) WHERE app IS NOT NULL;
                    """)
        }
        migrator.registerMigration("0003 background time") { db in
            try db.execute(
                sql: """
                    -- What people set for the device, and what a service that starts has to know of doze.
                    CREATE TABLE device (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        settings TEXT,
                        doze TEXT
                    ) STRICT;

                    -- What a task needs of the device (TransferRules.code), when it needs less (boot seconds), and whether it
                    -- waits for a good moment only because its app was in the background.
                    ALTER TABLE tasks ADD COLUMN rules INTEGER NOT NULL DEFAULT 0 CHECK (rules >= 0);
                    ALTER TABLE tasks ADD COLUMN loosens_at REAL;
                    ALTER TABLE tasks ADD COLUMN discretion_forced INTEGER NOT NULL DEFAULT 0
                        CHECK (discretion_forced IN (0, 1));
                    DROP INDEX tasks_ready;
                    CREATE INDEX tasks_ready ON tasks (lane, rules, large, priority DESC, id)
                        WHERE state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL;
                    CREATE INDEX tasks_loosens_at ON tasks (loosens_at)
                        WHERE state = 'waiting' AND loosens_at IS NOT NULL;
                    CREATE INDEX tasks_discretion_forced ON tasks (session)
                        WHERE discretion_forced AND ended_at IS NULL;

                    -- What a decision looked at, value by value.
                    ALTER TABLE journal ADD COLUMN inputs TEXT;
                    CREATE INDEX journal_time ON journal (time);
                    """)
        }
        migrator.registerMigration("0004 uploads") { db in
            try db.execute(
                sql: """
                    -- What the server keeps of an upload that can be continued, and the files that are sent, where these are
                    -- not simply the one that the request names.
                    ALTER TABLE tasks ADD COLUMN upload TEXT;
                    ALTER TABLE tasks ADD COLUMN upload_source TEXT;
                    """)
        }
        migrator.registerMigration("0005 fairness") { db in
            try db.execute(
                sql: """
                    -- How many attempts in a row left nothing that lasts, one under way included, and the most bytes that were
                    -- ever there for an attempt to continue from.
                    ALTER TABLE tasks ADD COLUMN fruitless INTEGER NOT NULL DEFAULT 0 CHECK (fruitless >= 0);
                    ALTER TABLE tasks ADD COLUMN furthest INTEGER NOT NULL DEFAULT 0 CHECK (furthest >= 0);
                    UPDATE tasks SET furthest = max(received, 0) WHERE ended_at IS NULL;
                    DROP INDEX tasks_ready;
                    CREATE INDEX tasks_ready ON tasks (
                        lane, rules, large, fruitless > 0, priority DESC, fruitless, id)
                        WHERE state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL;

                    -- The tasks of one session that go to one origin in one way: what a limit of connections counts. The proxy
                    -- is as the tasks name it, without name and password; none leaves it to the service, an empty one forbids it.
                    CREATE TABLE ways (
                        id INTEGER PRIMARY KEY,
                        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                        origin TEXT NOT NULL,
                        proxy TEXT
                    ) STRICT;
                    INSERT INTO ways (id, session, origin) SELECT id, session, origin FROM lanes;
                    -- What stands behind the last @ is the address.
                    CREATE TEMPORARY TABLE proxied AS
                        SELECT id, lane, iif(instr(proxy, '@') AND instr(proxy, '://'),
                            substr(proxy, 1, instr(proxy, '://') + 2), '')
                            || substr(proxy, length(rtrim(proxy, replace(proxy, '@', ''))) + 1) AS address
                        FROM (SELECT id, lane, json_extract(request, '$.proxy') AS proxy FROM tasks)
                        WHERE proxy IS NOT NULL;
                    INSERT INTO ways (session, origin, proxy)
                        SELECT DISTINCT lanes.session, lanes.origin, proxied.address
                        FROM proxied JOIN lanes ON lanes.id = proxied.lane;
                    UPDATE tasks SET lane = (
                            SELECT ways.id FROM ways JOIN lanes ON ways.session = lanes.session AND ways.origin = lanes.origin
                            WHERE lanes.id = tasks.lane
                                AND ways.proxy = (SELECT address FROM proxied WHERE proxied.id = tasks.id))
                        WHERE id IN (SELECT id FROM proxied);
                    DROP TABLE proxied;
                    DROP TABLE lanes;
                    ALTER TABLE ways RENAME TO lanes;
                    CREATE UNIQUE INDEX lanes_way ON lanes (session, origin, ifnull(proxy, ' '));
                    """)
        }
        migrator.registerMigration("0006 starts") { db in
            try db.execute(
                sql: """
                    -- Tasks that were under way when a fault ended the service, and how often that was.
                    CREATE TABLE starts (
                        task INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
                        faults INTEGER NOT NULL CHECK (faults > 0)
                    ) STRICT;

                    -- Seconds that were seen to pass in earlier boots; those of the present one are its boot seconds.
                    ALTER TABLE clock ADD COLUMN seen_before REAL NOT NULL DEFAULT 0 CHECK (seen_before >= 0);
                    -- When the task ended, in seconds that were seen to pass.
                    ALTER TABLE tasks ADD COLUMN ended_seen REAL;
                    UPDATE tasks SET ended_seen = coalesce((SELECT boot_seconds FROM clock), 0)
                        WHERE ended_at IS NOT NULL;
                    """)
        }
        migrator.registerMigration("0007 wrong sources") { db in
            try db.execute(
                sql: """
                    -- Which of a download's URLs have sent the whole of another file: their places in a JSON array.
                    ALTER TABLE tasks ADD COLUMN wrong_sources TEXT;
                    """)
        }
        migrator.registerMigration("0008 queried columns") { db in
            try db.execute(
                sql: """
                    -- What queries look at has columns of its own. Connections that a session allows with one host.
                    ALTER TABLE sessions ADD COLUMN connections INTEGER;
                    UPDATE sessions SET connections = json_extract(settings, '$.httpMaximumConnectionsPerHost')
                        WHERE CASE WHEN json_valid(settings)
                            THEN json_type(settings, '$.httpMaximumConnectionsPerHost') = 'integer' END;

                    -- Who asks what: an app is asked once in a session.
                    ALTER TABLE messages ADD COLUMN method TEXT;
                    ALTER TABLE messages ADD COLUMN scheme TEXT;
                    ALTER TABLE messages ADD COLUMN host TEXT;
                    ALTER TABLE messages ADD COLUMN port INTEGER;
                    ALTER TABLE messages ADD COLUMN realm TEXT;
                    ALTER TABLE messages ADD COLUMN is_proxy INTEGER CHECK (is_proxy IN (0, 1));
                    UPDATE messages SET method = json_extract(challenge, '$.method'),
                            scheme = json_extract(challenge, '$.scheme'), host = json_extract(challenge, '$.host'),
                            port = json_extract(challenge, '$.port'), realm = json_extract(challenge, '$.realm'),
                            is_proxy = json_extract(challenge, '$.isProxy')
                        WHERE CASE WHEN json_valid(challenge)
                            THEN json_type(challenge, '$.port') = 'integer'
                                AND json_type(challenge, '$.isProxy') IN ('true', 'false') END;

                    -- The file that holds the beginning of a download.
                    ALTER TABLE tasks ADD COLUMN partial_path TEXT;
                    UPDATE tasks SET partial_path = json_extract(partial, '$.path')
                        WHERE CASE WHEN json_valid(partial) THEN json_type(partial, '$.path') = 'text' END;

                    -- The copies that an upload has: their paths in a JSON array.
                    ALTER TABLE tasks ADD COLUMN snapshots TEXT;
                    UPDATE tasks SET snapshots = (
                            SELECT json_group_array(json_extract(value, '$.path'))
                            FROM json_each(upload_source, '$.files')
                            WHERE type = 'object' AND json_extract(value, '$.isSnapshot') = 1
                                AND json_type(value, '$.path') = 'text')
                        WHERE json_valid(upload_source);
                    UPDATE tasks SET snapshots = NULL WHERE snapshots = '[]';
                    """)
        }
        migrator.registerMigration("0009 wakes") { db in
            try db.execute(
                sql: """
                    -- What apps have to be woken for beside the messages of their sessions; see docs/decisions/0034. A row goes when
                    -- its app has completed the wake, or when the wake is given up.
                    CREATE TABLE wakes (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        source TEXT NOT NULL CHECK (
                            source IN ('fetch', 'push', 'region', 'significantChange', 'processing')),
                        key TEXT NOT NULL,
                        payload BLOB CHECK (length(payload) <= 8192),
                        created_at REAL NOT NULL,
                        expires_at REAL,
                        UNIQUE (app, source, key)
                    ) STRICT;

                    -- A wake that is under way is about a key of its source, which for a session is the session.
                    UPDATE apps SET record = json_set(record, '$.processState.begun', json((
                            SELECT json_group_array(json(json_remove(
                                json_set(value, '$.wake.key', json_extract(value, '$.wake.session')), '$.wake.session')))
                            FROM json_each(apps.record, '$.processState.begun'))))
                        WHERE CASE WHEN json_valid(record) THEN json_array_length(record, '$.processState.begun') END > 0;
                    """)
        }
        migrator.registerMigration("0010 refresh") { db in
            try db.execute(
                sql: """
                    -- Continued tasks are a source of their own; see docs/decisions/0037.
                    CREATE TABLE more_wakes (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        source TEXT NOT NULL CHECK (
                            source IN ('fetch', 'push', 'region', 'significantChange', 'processing', 'continued')),
                        key TEXT NOT NULL,
                        payload BLOB CHECK (length(payload) <= 8192),
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

                    -- How wakes ended whose result somebody waits for, written with their end; a row goes when it was taken into
                    -- account.
                    CREATE TABLE wake_ends (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL,
                        source TEXT NOT NULL CHECK (source IN ('fetch', 'processing', 'continued')),
                        key TEXT NOT NULL,
                        wake INTEGER NOT NULL,
                        result TEXT NOT NULL CHECK (result IN ('newData', 'noData', 'failed')),
                        detail TEXT,
                        ended_at REAL NOT NULL
                    ) STRICT;

                    -- What is known of the refresh of one app, and what of the device: JSON.
                    CREATE TABLE refresh_apps (
                        app TEXT PRIMARY KEY CHECK (length(app) > 0),
                        record TEXT NOT NULL,
                        -- What its transfers had moved when its last fetch began.
                        begun_bytes INTEGER NOT NULL DEFAULT 0
                    ) STRICT;
                    CREATE TABLE refresh_device (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        record TEXT NOT NULL
                    ) STRICT;

                    -- Tasks that apps have submitted, until they have ended.
                    CREATE TABLE scheduled_tasks (
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        identifier TEXT NOT NULL,
                        -- Those that run: a request that is submitted meanwhile under the same identifier waits beside it.
                        running INTEGER NOT NULL CHECK (running IN (0, 1)),
                        kind TEXT NOT NULL CHECK (kind IN ('refresh', 'processing', 'continued')),
                        task TEXT NOT NULL,
                        submitted_at REAL NOT NULL,
                        began_at REAL,
                        progress TEXT,
                        PRIMARY KEY (app, identifier, running)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("0011 location") { db in
            try db.execute(
                sql: """
                    -- What an app watches and what came of it, and on which side of each boundary the device is: JSON. See
                    -- docs/decisions/0043.
                    CREATE TABLE location_apps (
                        app TEXT PRIMARY KEY CHECK (length(app) > 0),
                        record TEXT NOT NULL
                    ) STRICT;
                    CREATE TABLE location_device (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        record TEXT NOT NULL
                    ) STRICT;
                    """)
        }
        migrator.registerMigration("0012 notifications") { db in
            try db.execute(
                sql: """
                    -- Notifications of apps that wait to be shown, and those that are; see docs/decisions/0045. A text is in no
                    -- column of its own.
                    CREATE TABLE notifications (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        app TEXT NOT NULL CHECK (length(app) > 0),
                        identifier TEXT NOT NULL,
                        state TEXT NOT NULL CHECK (state IN ('pending', 'due', 'shown')),
                        -- When it is to be shown; null while it waits to be released.
                        due_at REAL,
                        -- Seconds that its app has asked for.
                        delay REAL CHECK (delay > 0),
                        repeats INTEGER NOT NULL DEFAULT 0 CHECK (repeats IN (0, 1)),
                        -- The connection of the notification server that shows it, and its number there.
                        server TEXT,
                        number INTEGER,
                        record TEXT NOT NULL,
                        CHECK ((server IS NULL) = (number IS NULL))
                    ) STRICT;
                    -- One that waits and one that is shown may have the same identifier.
                    CREATE UNIQUE INDEX notifications_identity
                        ON notifications (app, identifier, (state = 'shown'));

                    -- What an app and its user have said of notifications: JSON.
                    CREATE TABLE notification_apps (
                        app TEXT PRIMARY KEY CHECK (length(app) > 0),
                        record TEXT NOT NULL
                    ) STRICT;
                    """)
        }
        registerPush(in: &migrator)
        registerUnifiedPush(in: &migrator)
        registerExpiry(in: &migrator)
        registerIndices(in: &migrator)
        registerDestinations(in: &migrator)
        registerDoubts(in: &migrator)
        registerFolders(in: &migrator)
        registerWakeEnds(in: &migrator)
        registerJoining(in: &migrator)
        registerAlerts(in: &migrator)
        registerYielding(in: &migrator)
        return migrator
    }()
}
