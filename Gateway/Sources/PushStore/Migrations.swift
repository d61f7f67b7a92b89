import GRDB

/// The steps that create the schema. A step must not be changed after its release.
enum Migrations {
    static let all: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(sql: first)
        }
        migrator.registerMigration("2") { db in
            try db.execute(sql: second)
        }
        migrator.registerMigration("3") { db in
            // Without this index, each registration would read the tokens of all devices.
            try db.execute(sql: "CREATE INDEX tokenOfDevice ON token (device)")
        }
        return migrator
    }()

    /// The first schema. Times are milliseconds since 1970, except `expiry`, which is in seconds.
    private static let first = """
        CREATE TABLE team (
            id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 10),
            name TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            suspendedAt INTEGER
        ) STRICT;
        CREATE TABLE signingKey (
            id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 10),
            team TEXT NOT NULL REFERENCES team (id),
            environment TEXT NOT NULL CHECK (environment IN ('any', 'development', 'production')),
            publicKey TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            revokedAt INTEGER
        ) STRICT;
        CREATE TABLE topic (
            name TEXT NOT NULL PRIMARY KEY,
            team TEXT NOT NULL REFERENCES team (id),
            createdAt INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE device (
            id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
            publicKey BLOB NOT NULL UNIQUE CHECK (length(publicKey) = 32),
            name TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            seenAt INTEGER,
            revokedAt INTEGER
        ) STRICT;
        CREATE TABLE enrolment (
            hash BLOB NOT NULL PRIMARY KEY,
            name TEXT NOT NULL,
            expiresAt INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE token (
            token TEXT NOT NULL PRIMARY KEY,
            device BLOB NOT NULL REFERENCES device (id),
            topic TEXT NOT NULL REFERENCES topic (name),
            createdAt INTEGER NOT NULL,
            endedAt INTEGER,
            endedBy TEXT CHECK (endedBy IN ('unregistered', 'replaced')),
            CHECK ((endedAt IS NULL) = (endedBy IS NULL))
        ) STRICT;
        CREATE UNIQUE INDEX tokenInUse ON token (device, topic) WHERE endedAt IS NULL;
        CREATE TABLE push (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL CHECK (length(id) = 16),
            device BLOB NOT NULL REFERENCES device (id),
            topic TEXT NOT NULL,
            slot INTEGER NOT NULL CHECK (slot IN (0, 1)),
            receivedAt INTEGER NOT NULL,
            expiry INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            type INTEGER NOT NULL,
            collapseID TEXT,
            isSilent INTEGER NOT NULL,
            heldUntil INTEGER,
            payload BLOB NOT NULL,
            UNIQUE (device, topic, slot)
        ) STRICT;
        CREATE INDEX pushExpiry ON push (expiry);
        CREATE TABLE log (
            entry INTEGER PRIMARY KEY AUTOINCREMENT,
            push BLOB NOT NULL,
            at INTEGER NOT NULL,
            event TEXT NOT NULL,
            detail TEXT,
            device BLOB,
            topic TEXT,
            payload BLOB
        ) STRICT;
        CREATE INDEX logPush ON log (push);
        """

    /// The second schema. Slots are stored as text. Tokens of UnifiedPush registrations have topics that belong to no
    /// team.
    private static let second = """
        CREATE TABLE slottedPush (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL CHECK (length(id) = 16),
            device BLOB NOT NULL REFERENCES device (id),
            topic TEXT NOT NULL,
            slot TEXT NOT NULL CHECK (length(slot) > 0),
            receivedAt INTEGER NOT NULL,
            expiry INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            type INTEGER NOT NULL,
            collapseID TEXT,
            isSilent INTEGER NOT NULL,
            heldUntil INTEGER,
            payload BLOB NOT NULL,
            UNIQUE (device, topic, slot)
        ) STRICT;
        INSERT INTO slottedPush
            SELECT sequence, id, device, topic, CASE slot WHEN 0 THEN 'latest' ELSE 'held' END, receivedAt, expiry, priority, type,
                collapseID, isSilent, heldUntil, payload
            FROM push;
        DROP TABLE push;
        ALTER TABLE slottedPush RENAME TO push;
        CREATE INDEX pushExpiry ON push (expiry);
        CREATE TABLE teamlessToken (
            token TEXT NOT NULL PRIMARY KEY,
            device BLOB NOT NULL REFERENCES device (id),
            topic TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            endedAt INTEGER,
            endedBy TEXT CHECK (endedBy IN ('unregistered', 'replaced')),
            CHECK ((endedAt IS NULL) = (endedBy IS NULL))
        ) STRICT;
        INSERT INTO teamlessToken SELECT token, device, topic, createdAt, endedAt, endedBy FROM token;
        DROP TABLE token;
        ALTER TABLE teamlessToken RENAME TO token;
        CREATE UNIQUE INDEX tokenInUse ON token (device, topic) WHERE endedAt IS NULL;
        """
}
