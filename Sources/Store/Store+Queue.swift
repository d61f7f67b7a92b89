import GRDB
package import NightshiftAPI

/// The head of a queue, as much of it as admission needs.
package struct QueuedTask: Hashable, Sendable {
    package var id: TaskID
    package var lane: LaneID
    package var priority: Double
    package var isLarge: Bool
    /// Attempts in a row that left nothing to continue from.
    package var fruitless: Int

    package init(id: TaskID, lane: LaneID, priority: Double, isLarge: Bool, fruitless: Int = 0) {
        self.id = id
        self.lane = lane
        self.priority = priority
        self.isLarge = isLarge
        self.fruitless = fruitless
    }
}

/// A lane with what its session allows.
package struct Lane: Hashable, Sendable {
    package var id: LaneID
    package var session: SessionID
    package var origin: String
    package var maximumConnections: Int
    /// As its tasks name it, without name and password; nil where they leave it to the service.
    package var proxy: String?

    package init(id: LaneID, session: SessionID, origin: String, maximumConnections: Int, proxy: String? = nil) {
        self.id = id
        self.session = session
        self.origin = origin
        self.maximumConnections = maximumConnections
        self.proxy = proxy
    }
}

/// When each kind of time in the queue comes next; nil where none is waited for.
package struct QueueTimes: Hashable, Sendable {
    /// Boot seconds at which a pause ends.
    package var notBefore: Double?
    /// Seconds since 1970 of a begin date.
    package var beginAt: Double?
    /// Boot seconds at which a task needs less of the device.
    package var loosensAt: Double?
    /// Boot seconds of a resource timeout.
    package var deadline: Double?

    package init(
        notBefore: Double? = nil, beginAt: Double? = nil, loosensAt: Double? = nil, deadline: Double? = nil
    ) {
        self.notBefore = notBefore
        self.beginAt = beginAt
        self.loosensAt = loosensAt
        self.deadline = deadline
    }
}

/// The query that every reading of the queue makes for each lane. It has to stay a few steps in an index, however long
/// the queue is.
package enum QueueStatements {
    private static let canStart = "state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL"
    private static let isReady = "lane = ?1 AND \(canStart)"

    /// Goes from one class to the next in the index, without touching the tasks in between.
    package static let rules = """
        WITH RECURSIVE class (rules) AS (
            SELECT (SELECT rules FROM tasks WHERE \(isReady) ORDER BY rules LIMIT 1)
            UNION ALL
            SELECT (SELECT rules FROM tasks WHERE \(isReady) AND rules > class.rules ORDER BY rules LIMIT 1)
            FROM class WHERE class.rules IS NOT NULL
        )
        SELECT rules FROM class WHERE rules IS NOT NULL
        """

    package static let tasks = """
        SELECT id, priority, fruitless FROM tasks
        WHERE \(isReady) AND rules = ?2 AND large = ?3 AND (fruitless > 0) = ?5
        ORDER BY priority DESC, fruitless, id LIMIT ?4
        """

    /// By itself SQLite would choose the index of all tasks of a lane, and walk past those that have ended.
    package static let lanes = """
        SELECT lanes.id AS id, sessions.identifier AS session, lanes.origin AS origin, lanes.proxy AS proxy,
            coalesce(sessions.connections, 1) AS connections
        FROM lanes JOIN sessions ON sessions.id = lanes.session
        WHERE EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_ready WHERE lane = lanes.id AND \(canStart))
        """
}

extension StoreTransaction {
    /// Lanes in which a task could start now.
    package func readyLanes() throws -> [Lane] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: QueueStatements.lanes))
        return rows.map {
            Lane(
                id: LaneID(rawValue: $0["id"]), session: SessionID(rawValue: $0["session"]), origin: $0["origin"],
                maximumConnections: $0["connections"], proxy: $0["proxy"])
        }
    }

    /// The rules of a lane's tasks that could start, each once: as many steps in the index as there are different ones.
    package func readyRules(lane: LaneID) throws -> [TransferRules] {
        let statement = try db.cachedStatement(sql: QueueStatements.rules)
        return try Int64.fetchAll(statement, arguments: [lane.rawValue]).compactMap { code in
            if let rules = TransferRules(code: code) { return rules }
            // Reading the tasks that have such ones names them; the others go on.
            _ = try fetchTasks("WHERE tasks.lane = ? AND tasks.rules = ?", [lane.rawValue, code])
            return nil
        }
    }

    /// The first tasks of a lane that could start, best first, of one class: equal rules, and one size.
    ///
    /// - Parameter hasFailed: those whose last attempt left nothing to continue from, or those that have none such.
    package func readyTasks(
        lane: LaneID, rules: TransferRules, isLarge: Bool, hasFailed: Bool = false, limit: Int
    ) throws -> [QueuedTask] {
        let statement = try db.cachedStatement(sql: QueueStatements.tasks)
        return try Row.fetchAll(statement, arguments: [lane.rawValue, rules.code, isLarge, limit, hasFailed]).map {
            QueuedTask(
                id: TaskID($0["id"]), lane: lane, priority: $0["priority"], isLarge: isLarge, fruitless: $0["fruitless"]
            )
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

    /// Writes down that attempts of these tasks are under way, where their rows do not know of them yet: a service that dies
    /// leaves a trace of them.
    package func noteAttempts(_ records: [TaskRecord]) throws {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE tasks SET attempts = ?1, fruitless = ?2, furthest = ?3, failures = ?4
                WHERE id = ?5 AND attempts < ?1 AND ended_at IS NULL
                """)
        for record in records {
            try statement.execute(arguments: [
                record.attempts, record.fruitless, record.furthest, record.failures, record.id.rawValue,
            ])
        }
    }

    /// Lets every task that waits for its next attempt try now, as if none had failed before.
    ///
    /// - Returns: how many there were.
    package func endAllWaits() throws -> Int {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL, failures = 0, fruitless = 0
                WHERE state = 'waiting' AND not_before IS NOT NULL
                    AND wait_reason IN ('retry', 'retryAfter', 'diskSpace', 'destinationSilent')
                """)
        return db.changesCount
    }

    /// Lets the tasks that wait for this reason try now.
    package func endWaits(for reason: WaitReason) throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL
                WHERE state = 'waiting' AND not_before IS NOT NULL AND wait_reason = ?
                """, arguments: [reason.rawValue])
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

    /// Lets go what waits for somebody to log in to the network.
    package func endPortalPauses() throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL
                WHERE state = 'waiting' AND not_before IS NOT NULL AND wait_reason = 'portal'
                """)
    }

    /// When the queue changes by the mere passing of time.
    package func nextTimes() throws -> QueueTimes {
        func next(_ column: String) throws -> Double? {
            try Double.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(\(column)) FROM tasks WHERE state = 'waiting' AND \(column) IS NOT NULL"))
        }
        return QueueTimes(
            notBefore: try next("not_before"), beginAt: try next("begin_at"), loosensAt: try next("loosens_at"),
            deadline: try next("deadline"))
    }

    /// Tasks whose resource timeout has passed.
    package func overdueTasks(bootSeconds: Double, limit: Int) throws -> [TaskID] {
        try Int64.fetchAll(
            db,
            sql: "SELECT id FROM tasks WHERE state = 'waiting' AND deadline <= ? ORDER BY deadline LIMIT ?",
            arguments: [bootSeconds, limit]
        ).map { TaskID($0) }
    }

    func lane(session: Int64, origin: String, proxy: String?) throws -> LaneID {
        let known = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id FROM lanes WHERE session = ?1 AND origin = ?2 AND ifnull(proxy, ' ') = ifnull(?3, ' ')
                    """),
            arguments: [session, origin, proxy])
        if let known { return LaneID(rawValue: known) }
        try db.execute(
            sql: "INSERT INTO lanes (session, origin, proxy) VALUES (?, ?, ?)", arguments: [session, origin, proxy])
        return LaneID(rawValue: db.lastInsertedRowID)
    }

    /// Moves a task to the lane of another origin.
    package func move(_ record: inout TaskRecord, to origin: String) throws {
        record.lane = try lane(
            session: sessionRow(record.session).id, origin: origin, proxy: record.proxyAddress)
        record.origin = origin
        try db.execute(
            sql: "UPDATE tasks SET lane = ? WHERE id = ?", arguments: [record.lane.rawValue, record.id.rawValue])
    }

    /// Forgets lanes without tasks.
    package func deleteEmptyLanes() throws {
        try db.execute(sql: "DELETE FROM lanes WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id)")
    }
}
