import GRDB
package import NightshiftAPI

/// The head of a queue, as much of it as admission needs.
package struct QueuedTask: Hashable, Sendable {
    package var id: TaskID
    package var lane: LaneID
    package var priority: Double
    package var isLarge: Bool

    package init(id: TaskID, lane: LaneID, priority: Double, isLarge: Bool) {
        self.id = id
        self.lane = lane
        self.priority = priority
        self.isLarge = isLarge
    }
}

/// A lane with what its session allows.
package struct Lane: Hashable, Sendable {
    package var id: LaneID
    package var session: SessionID
    package var origin: String
    package var maximumConnections: Int

    package init(id: LaneID, session: SessionID, origin: String, maximumConnections: Int) {
        self.id = id
        self.session = session
        self.origin = origin
        self.maximumConnections = maximumConnections
    }
}

extension StoreTransaction {
    /// Lanes in which a task could start now.
    package func readyLanes() throws -> [Lane] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT lanes.id AS id, sessions.identifier AS session, lanes.origin AS origin,
                    json_extract(sessions.settings, '$.httpMaximumConnectionsPerHost') AS connections
                FROM lanes JOIN sessions ON sessions.id = lanes.session
                WHERE EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id AND state = 'waiting'
                    AND not_before IS NULL AND begin_at IS NULL AND question IS NULL)
                """)
        return rows.map {
            Lane(
                id: LaneID(rawValue: $0["id"]), session: SessionID(rawValue: $0["session"]), origin: $0["origin"],
                maximumConnections: $0["connections"])
        }
    }

    /// The first tasks of a lane that could start, best first, of one size class.
    package func readyTasks(lane: LaneID, isLarge: Bool, limit: Int) throws -> [QueuedTask] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, priority FROM tasks
                WHERE lane = ? AND large = ? AND state = 'waiting' AND not_before IS NULL AND begin_at IS NULL
                    AND question IS NULL
                ORDER BY priority DESC, id LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [lane.rawValue, isLarge, limit]).map {
            QueuedTask(id: TaskID($0["id"]), lane: lane, priority: $0["priority"], isLarge: isLarge)
        }
    }

    /// Makes tasks ready whose pause is over or whose begin date has come; whose app wants to be asked first, it is.
    package func releaseDue(bootSeconds: Double, wallSeconds: Double) throws {
        try db.cachedStatement(
            sql: "UPDATE tasks SET not_before = NULL WHERE state = 'waiting' AND not_before <= ?"
        ).execute(arguments: [bootSeconds])
        try db.cachedStatement(
            sql: """
                INSERT INTO messages (session, task, kind) SELECT session, id, 'delayedRequest' FROM tasks
                WHERE state = 'waiting' AND begin_at <= ? AND asks_first
                """
        ).execute(arguments: [wallSeconds])
        try db.cachedStatement(
            sql: """
                UPDATE tasks SET begin_at = NULL, question = iif(asks_first, 'delayedRequest', NULL),
                    wait_since = iif(asks_first, ?1, wait_since), asks_first = 0
                WHERE state = 'waiting' AND begin_at <= ?1
                """
        ).execute(arguments: [wallSeconds])
    }

    /// Ends every pause of the tasks of `origin`, or of all: the cause may be gone.
    package func endPauses(origin: String?) throws {
        guard let origin else {
            try db.execute(
                sql: """
                    UPDATE tasks SET not_before = NULL
                    WHERE state = 'waiting' AND not_before IS NOT NULL AND wait_reason = 'retry'
                    """)
            return
        }
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL WHERE state = 'waiting' AND not_before IS NOT NULL
                    AND wait_reason = 'retry' AND lane IN (SELECT id FROM lanes WHERE origin = ?)
                """, arguments: [origin])
    }

    /// Ends the pauses of an app's tasks that were held back because it was woken often.
    package func endStartDelay(of app: AppID) throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL, wait_reason = NULL, wait_since = NULL, wait_detail = NULL
                WHERE state = 'waiting' AND wait_reason = 'relaunchDelay'
                    AND session IN (SELECT id FROM sessions WHERE app = ?)
                """, arguments: [app.rawValue])
    }

    /// When the queue changes by the mere passing of time: boot seconds of the next pause's end and of the next resource
    /// timeout, seconds since 1970 of the next begin date.
    package func nextTimes() throws -> (notBefore: Double?, beginAt: Double?, deadline: Double?) {
        (
            try Double.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(not_before) FROM tasks WHERE state = 'waiting' AND not_before IS NOT NULL")),
            try Double.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(begin_at) FROM tasks WHERE state = 'waiting' AND begin_at IS NOT NULL")),
            try Double.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(deadline) FROM tasks WHERE state = 'waiting' AND deadline IS NOT NULL"))
        )
    }

    /// Tasks whose resource timeout has passed.
    package func overdueTasks(bootSeconds: Double, limit: Int) throws -> [TaskID] {
        try Int64.fetchAll(
            db,
            sql: "SELECT id FROM tasks WHERE state = 'waiting' AND deadline <= ? ORDER BY deadline LIMIT ?",
            arguments: [bootSeconds, limit]
        ).map { TaskID($0) }
    }

    func lane(session: Int64, origin: String) throws -> LaneID {
        let known = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM lanes WHERE session = ? AND origin = ?"),
            arguments: [session, origin])
        if let known { return LaneID(rawValue: known) }
        try db.execute(sql: "INSERT INTO lanes (session, origin) VALUES (?, ?)", arguments: [session, origin])
        return LaneID(rawValue: db.lastInsertedRowID)
    }

    /// Moves a task to the lane of another origin.
    package func move(_ record: inout TaskRecord, to origin: String) throws {
        record.lane = try lane(session: sessionRow(record.session).id, origin: origin)
        record.origin = origin
        try db.execute(
            sql: "UPDATE tasks SET lane = ? WHERE id = ?", arguments: [record.lane.rawValue, record.id.rawValue])
    }

    /// Forgets lanes without tasks.
    package func deleteEmptyLanes() throws {
        try db.execute(sql: "DELETE FROM lanes WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id)")
    }
}
