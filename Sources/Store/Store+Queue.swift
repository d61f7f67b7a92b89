import GRDB
package import NightshiftAPI

/// The first task of a queue, with the fields needed for admission.
package struct QueuedTask: Hashable, Sendable {
    package var id: TaskID
    package var lane: LaneID
    package var priority: Double
    package var isLarge: Bool
    /// Consecutive attempts that left no bytes to resume from.
    package var fruitless: Int

    package init(id: TaskID, lane: LaneID, priority: Double, isLarge: Bool, fruitless: Int = 0) {
        self.id = id
        self.lane = lane
        self.priority = priority
        self.isLarge = isLarge
        self.fruitless = fruitless
    }
}

/// A lane with the limits of its session.
package struct Lane: Hashable, Sendable {
    package var id: LaneID
    package var session: SessionID
    package var origin: String
    package var maximumConnections: Int
    /// The proxy named by the tasks, without name and password; nil if the service chooses it.
    package var proxy: String?

    package init(id: LaneID, session: SessionID, origin: String, maximumConnections: Int, proxy: String? = nil) {
        self.id = id
        self.session = session
        self.origin = origin
        self.maximumConnections = maximumConnections
        self.proxy = proxy
    }
}

/// The next time of each kind in the queue; nil if no task waits for it.
package struct QueueTimes: Hashable, Sendable {
    /// The end of a pause in boot seconds.
    package var notBefore: Double?
    /// A begin date in seconds since 1970.
    package var beginAt: Double?
    /// The time in boot seconds at which a task's requirements are relaxed.
    package var relaxesAt: Double?
    /// The end of a resource timeout in boot seconds.
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

/// The query that each reading of the queue makes for every lane. It must need only a few steps in an index, however
/// long the queue is.
package enum QueueStatements {
    private static let canStart = "state = 'waiting' AND not_before IS NULL AND begin_at IS NULL AND question IS NULL"
    private static let isReady = "lane = ?1 AND \(canStart)"

    /// The query of the classes of requirements. It moves from class to class in the index, without reading the tasks
    /// in between.
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

    /// The query of lanes with waiting tasks. The index is named because SQLite would otherwise choose the index of all
    /// tasks of a lane, and would also read tasks that have ended.
    package static let lanes = """
        SELECT lanes.id AS id, sessions.identifier AS session, lanes.origin AS origin, lanes.proxy AS proxy,
            coalesce(sessions.connections, 1) AS connections
        FROM lanes JOIN sessions ON sessions.id = lanes.session
        WHERE EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_ready WHERE lane = lanes.id AND \(canStart))
        """
}

extension StoreTransaction {
    /// Returns lanes in which a task could start now.
    package func readyLanes() throws -> [Lane] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: QueueStatements.lanes))
        return rows.map {
            Lane(
                id: LaneID(rawValue: $0["id"]), session: SessionID(rawValue: $0["session"]), origin: $0["origin"],
                maximumConnections: $0["connections"], proxy: $0["proxy"])
        }
    }

    /// Returns the different rules of a lane's ready tasks. It takes one step in the index for each of them.
    package func readyRules(lane: LaneID) throws -> [TransferRules] {
        let statement = try db.cachedStatement(sql: QueueStatements.rules)
        return try Int64.fetchAll(statement, arguments: [lane.rawValue]).compactMap { code in
            if let rules = TransferRules(code: code) { return rules }
            // Reading the tasks with invalid rules reports them as unreadable. Other tasks are not affected.
            _ = try fetchTasks("WHERE tasks.lane = ? AND tasks.rules = ?", [lane.rawValue, code])
            return nil
        }
    }

    /// Returns the first ready tasks of one class of a lane, best first. A class has equal rules and one size.
    ///
    /// - Parameter hasFailed: whether to return tasks whose last attempt left no bytes to resume from, or the others.
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

    /// Makes tasks ready whose pause is over or whose begin date has come. If the app wants to be asked first, a
    /// question is added.
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

    /// Writes the attempts of running tasks whose rows do not count them yet, so that they are known after a crash of
    /// the service.
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
    /// - Returns: the number of tasks.
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

    /// Ends the retry pauses of the tasks of `origin`, or of all tasks, because the cause may be gone.
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

    /// Moves a task to the lane of another origin.
    package func move(_ record: inout TaskRecord, to origin: String) throws {
        record.lane = try lane(
            session: sessionRow(record.session).id, origin: origin, proxy: record.proxyAddress)
        record.origin = origin
        try db.execute(
            sql: "UPDATE tasks SET lane = ? WHERE id = ?", arguments: [record.lane.rawValue, record.id.rawValue])
    }

    /// Deletes lanes without tasks.
    package func deleteEmptyLanes() throws {
        try db.execute(sql: "DELETE FROM lanes WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id)")
    }
}
