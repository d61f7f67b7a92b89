import GRDB
package import NightshiftAPI

/// The first task of a queue, with the fields needed for admission.
package struct QueuedTask: Hashable, Sendable {
    package var id: TaskID
    package var lane: LaneID
    package var priority: Double
    package var isLarge: Bool
    /// The number of consecutive attempts that left no bytes to resume from.
    package var fruitless: Int

    package init(id: TaskID, lane: LaneID, priority: Double, isLarge: Bool, fruitless: Int = 0) {
        self.id = id
        self.lane = lane
        self.priority = priority
        self.isLarge = isLarge
        self.fruitless = fruitless
    }
}

/// A per-origin queue, with the limits of its session.
package struct Lane: Hashable, Sendable {
    package var id: LaneID
    package var session: SessionID
    package var origin: String
    package var maximumConnections: Int
    /// The proxy that the tasks name, without name and password; nil if the service chooses the proxy.
    package var proxy: String?

    package init(id: LaneID, session: SessionID, origin: String, maximumConnections: Int, proxy: String? = nil) {
        self.id = id
        self.session = session
        self.origin = origin
        self.maximumConnections = maximumConnections
        self.proxy = proxy
    }
}

/// The next time of each kind at which the queue changes. A time is nil if no task waits for it.
package struct QueueTimes: Hashable, Sendable {
    /// The next end of a pause, in boot seconds.
    package var notBefore: Double?
    /// The earliest begin date of a waiting task, in seconds since 1970.
    package var beginAt: Double?
    /// The time in boot seconds at which a task's requirements are relaxed.
    package var relaxesAt: Double?
    /// The next end of a resource timeout, in boot seconds.
    package var deadline: Double?

    package init(
        notBefore: Double? = nil, beginAt: Double? = nil, relaxesAt: Double? = nil, deadline: Double? = nil
    ) {
        self.notBefore = notBefore
        self.beginAt = beginAt
        self.relaxesAt = relaxesAt
        self.deadline = deadline
    }
}

/// The queries that each reading of the queue makes for every per-origin queue. Each must need only a few steps in an
/// index, however long the queue is.
package enum QueueStatements {
    private static let canStart = "state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL"
    private static let isReady = "lane = ?1 AND \(canStart)"

    /// The query for the different sets of requirements. In the index, it moves directly from one set to the next
    /// without reading the tasks in between.
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

    /// The query for the per-origin queues with waiting tasks. It names the index, because SQLite would otherwise
    /// choose the index of all tasks and would also read tasks that have ended.
    package static let lanes = """
        SELECT lanes.id AS id, sessions.identifier AS session, lanes.origin AS origin, lanes.proxy AS proxy,
            coalesce(sessions.connections, 1) AS connections
        FROM lanes JOIN sessions ON sessions.id = lanes.session
        WHERE EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_ready WHERE lane = lanes.id AND \(canStart))
        """
}

extension StoreTransaction {
    /// Returns the per-origin queues in which a task could start now.
    package func readyLanes() throws -> [Lane] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: QueueStatements.lanes))
        return rows.map {
            Lane(
                id: LaneID(rawValue: $0["id"]), session: SessionID(rawValue: $0["session"]), origin: $0["origin"],
                maximumConnections: $0["connections"], proxy: $0["proxy"])
        }
    }

    /// Returns the different rules of the ready tasks of a per-origin queue. It takes one step in the index for each
    /// result.
    package func readyRules(lane: LaneID) throws -> [TransferRules] {
        let statement = try db.cachedStatement(sql: QueueStatements.rules)
        return try Int64.fetchAll(statement, arguments: [lane.rawValue]).compactMap { code in
            if let rules = TransferRules(code: code) { return rules }
            // Tasks with invalid rules are read so that they are reported as unreadable. Other tasks stay usable.
            _ = try fetchTasks("WHERE tasks.lane = ? AND tasks.rules = ?", [lane.rawValue, code])
            return nil
        }
    }

    /// Returns the first ready tasks of one class of a per-origin queue, with the best task first. The tasks of a class
    /// have equal rules and are either all large or all small.
    ///
    /// - Parameter hasFailed: Whether to return the tasks whose last attempt left no bytes to resume from, or the other
    ///   tasks.
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

    /// Makes tasks ready whose pause is over or whose begin date has been reached. If the app wants to be asked before
    /// a task begins, a question is added for the app.
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

    /// Writes the attempts of running tasks whose rows do not include these attempts yet. The attempts are then known
    /// even after a crash of the service.
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

    /// Ends the pauses of all tasks that wait for their next attempt, and resets their failures.
    ///
    /// - Returns: The number of tasks whose pauses ended.
    package func endAllWaits() throws -> Int {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL, failures = 0, fruitless = 0
                WHERE state = 'waiting' AND not_before IS NOT NULL
                    AND wait_reason IN ('retry', 'retryAfter', 'diskSpace', 'destinationSilent')
                """)
        return db.changesCount
    }

    /// Ends the pauses of the tasks that wait for this reason.
    package func endWaits(for reason: WaitReason) throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL
                WHERE state = 'waiting' AND not_before IS NOT NULL AND wait_reason = ?
                """, arguments: [reason.rawValue])
    }

    /// Ends the retry pauses of the tasks of `origin`, or of all tasks. The service calls this function when the cause
    /// of the failures may be gone.
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

    /// Ends the pauses of tasks that wait for a login to the network.
    package func endPortalPauses() throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL
                WHERE state = 'waiting' AND not_before IS NOT NULL AND wait_reason = 'portal'
                """)
    }

    /// Returns the next times at which the queue changes without an event.
    package func nextTimes() throws -> QueueTimes {
        func next(_ column: String) throws -> Double? {
            try Double.fetchOne(
                db.cachedStatement(
                    sql: "SELECT min(\(column)) FROM tasks WHERE state = 'waiting' AND \(column) IS NOT NULL"))
        }
        return QueueTimes(
            notBefore: try next("not_before"), beginAt: try next("begin_at"), relaxesAt: try next("loosens_at"),
            deadline: try next("deadline"))
    }

    /// Returns tasks whose resource timeout has passed.
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

    /// Moves a task to the per-origin queue of another origin.
    package func move(_ record: inout TaskRecord, to origin: String) throws {
        record.lane = try lane(
            session: sessionRow(record.session).id, origin: origin, proxy: record.proxyAddress)
        record.origin = origin
        try db.execute(
            sql: "UPDATE tasks SET lane = ? WHERE id = ?", arguments: [record.lane.rawValue, record.id.rawValue])
    }

    /// Deletes per-origin queues without tasks.
    package func deleteEmptyLanes() throws {
        try db.execute(sql: "DELETE FROM lanes WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id)")
    }
}
