import GRDB
package import NightshiftAPI

/// The queries for pages of tasks.
package enum TaskStatements {
    /// The query for the rows of tasks with columns of related tables.
    package static let rows = """
        SELECT tasks.*, sessions.identifier AS session_identifier, sessions.app AS app, lanes.origin AS origin,
            sessions.connections AS connections
        FROM tasks JOIN sessions ON sessions.id = tasks.session JOIN lanes ON lanes.id = tasks.lane
        """

    /// The end of a page's query.
    package static let page = "ORDER BY tasks.id LIMIT ?"
}

extension StoreTransaction {
    /// Returns the tasks that ended last, according to the last ten thousand journal entries. Tasks that were restarted
    /// after their end are left out.
    package func lastEndedTasks(limit: Int) throws -> [TaskRecord] {
        let ids = try Int64.fetchAll(
            db,
            sql: """
                SELECT task FROM journal
                WHERE id > (SELECT max(id) FROM journal) - 10000
                    AND task IS NOT NULL AND decision IN ('completed', 'failed', 'cancelled') ORDER BY id DESC LIMIT ?
                """, arguments: [limit])
        return try ids.compactMap { try readableTask(TaskID($0)) }.filter(\.state.isTerminal)
    }

    /// Inserts `record` and returns it with its new ids. If the record already has a number in its session, this number
    /// is kept. The session must exist.
    package func insert(_ record: TaskRecord) throws -> TaskRecord {
        var record = record
        let session = try sessionRow(record.session)
        if record.taskIdentifier == 0 { record.taskIdentifier = session.nextTaskIdentifier }
        try db.cachedStatement(
            sql: "UPDATE sessions SET next_task_identifier = max(next_task_identifier, ?1 + 1) WHERE id = ?2"
        ).execute(arguments: [record.taskIdentifier, session.id])
        record.lane = try lane(session: session.id, origin: record.origin, proxy: record.proxyAddress)
        try db.cachedStatement(
            sql: """
                INSERT INTO tasks (session, identifier, kind, created_at, request, lane, state, priority, large,
                    not_before, begin_at, deadline, time_left, source, partial, received, wait_reason, wait_since,
                    wait_detail, client_data, continues, asks_first, rules, loosens_at, discretion_forced,
                    upload_source, upload, partial_path, snapshots, destination_path, folder, join_url)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            session.id, record.taskIdentifier, record.kind.rawValue, record.createdAt,
            try Columns.encode(record.request), record.lane.rawValue, record.state.rawValue, record.priority,
            record.isLarge, record.notBefore, record.beginAt, record.deadline, record.timeLeft,
            try Columns.encodeIfPresent(record.source), try Columns.encodeIfPresent(record.partial), record.received,
            record.wait?.reason.rawValue, record.wait?.since, record.wait?.detail, record.clientData, record.continues,
            record.asksFirst, record.rules.code, record.relaxesAt, record.isDiscretionForced,
            try Columns.encodeIfPresent(record.uploadSource), try Columns.encodeIfPresent(record.upload),
            record.partial?.path, try snapshots(of: record), record.request.destination?.path,
            try Columns.encodeIfPresent(record.folder), record.joinURL,
        ])
        record.id = TaskID(db.lastInsertedRowID)
        return record
    }

    /// Writes the fields of an existing task that the service itself changes. ``putWishes(_:)`` writes the owner's
    /// requests, so that an older copy of the row does not undo these requests. ``putRules(_:)`` writes the device
    /// requirements.
    package func update(_ record: TaskRecord) throws {
        let wrongSources: String? = try record.wrongSources.isEmpty ? nil : Columns.encode(record.wrongSources)
        try db.cachedStatement(
            sql: """
                UPDATE tasks SET state = ?, large = ?, not_before = ?, begin_at = ?, wait_reason = ?,
                    wait_since = ?, wait_detail = ?, deadline = ?, time_left = ?, started_at = ?, ended_at = ?,
                    ended_seen = CASE WHEN ? THEN (SELECT seen_before + ? FROM clock) ELSE ended_seen END, partial = ?, publication = ?, current_url = ?, response = ?, last_error = ?, error = ?,
                    received = ?, sent = ?, file = ?, verified = ?, attempts = ?, restarts = ?, failures = ?,
                    resume_data = ?, resumed_at = ?, asks_first = ?, question = ?, upload_source = ?,
                    upload = ?, fruitless = ?, furthest = ?, wrong_sources = ?, partial_path = ?, snapshots = ?,
                    first_doubt = ?, folder = ?
                WHERE id = ?
                """
        ).execute(arguments: [
            record.state.rawValue, record.isLarge, record.notBefore, record.beginAt,
            record.wait?.reason.rawValue, record.wait?.since, record.wait?.detail, record.deadline, record.timeLeft,
            record.startedAt, record.endedAt, record.endedAt == nil || record.endedBoot != nil, record.endedBoot,
            try Columns.encodeIfPresent(record.partial), try Columns.encodeIfPresent(record.publication),
            record.currentURL, try Columns.encodeIfPresent(record.response),
            try Columns.encodeIfPresent(record.lastError), try Columns.encodeIfPresent(record.error), record.received,
            record.sent, record.file, record.verified.isEmpty ? nil : try Columns.encode(record.verified),
            record.attempts, record.restarts, record.failures, record.resumeData, record.resumedAt,
            record.asksFirst, record.question?.rawValue, try Columns.encodeIfPresent(record.uploadSource),
            try Columns.encodeIfPresent(record.upload), record.fruitless, record.furthest, wrongSources,
            record.partial?.path, try snapshots(of: record), try Columns.encodeIfPresent(record.firstDoubt),
            try Columns.encodeIfPresent(record.folder),
            record.id.rawValue,
        ])
    }

    /// Returns the paths of the task's copies in the form of the column `snapshots`.
    private func snapshots(of record: TaskRecord) throws -> String? {
        let paths = record.uploadSource?.files.filter(\.isSnapshot).map(\.path) ?? []
        return try paths.isEmpty ? nil : Columns.encode(paths)
    }

    /// Writes the fields that the owner of a task can change. The service calls this function only when the owner
    /// changes these fields.
    package func putWishes(_ record: TaskRecord) throws {
        try db.cachedStatement(
            sql: "UPDATE tasks SET priority = ?, request = ?, client_data = ? WHERE id = ?"
        ).execute(arguments: [
            record.priority, try Columns.encode(record.request), record.clientData, record.id.rawValue,
        ])
    }

    /// Returns a task; nil if it does not exist.
    ///
    /// - Throws: ``StoreError`` of code ``StoreError/Code/unreadable`` if the row is invalid.
    package func task(_ id: TaskID) throws -> TaskRecord? {
        let rows = try fetchRows("WHERE tasks.id = ?", [id.rawValue])
        if let reason = rows.unreadable.first?.reason { throw StoreError.unreadable(id, reason) }
        return rows.records.first
    }

    /// Returns the task, if it exists and is readable.
    package func readableTask(_ id: TaskID) throws -> TaskRecord? {
        try fetchTasks("WHERE tasks.id = ?", [id.rawValue]).first
    }

    /// Returns readable tasks in the order of their ids.
    package func tasks(
        session: SessionID?, states: Set<TaskState>?, after: TaskID?, limit: Int
    ) throws -> [TaskRecord] {
        try rows(session: session, states: states, after: after, limit: limit).records
    }

    /// Returns tasks in the order of their ids, including unreadable ones.
    package func rows(
        ids: Set<TaskID>? = nil, session: SessionID?, states: Set<TaskState>?, after: TaskID?, limit: Int
    ) throws -> TaskRows {
        var conditions = ["tasks.id > ?"]
        var arguments: StatementArguments = [after?.rawValue ?? 0]
        if let ids {
            conditions.append("tasks.id IN (SELECT value FROM json_each(?))")
            arguments += ["[\(ids.map(\.description).joined(separator: ","))]"]
        }
        if let session {
            conditions.append("sessions.identifier = ?")
            arguments += [session.rawValue]
        }
        if let states {
            conditions.append("tasks.state IN (\(states.map { _ in "?" }.joined(separator: ", ")))")
            arguments += StatementArguments(states.map(\.rawValue))
        }
        arguments += [limit]
        return try fetchRows("WHERE \(conditions.joined(separator: " AND ")) \(TaskStatements.page)", arguments)
    }

    /// Returns the id of the task with this number in a session.
    package func task(_ number: Int64, of session: SessionID) throws -> TaskID? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT tasks.id FROM tasks JOIN sessions ON sessions.id = tasks.session
                    WHERE sessions.identifier = ? AND tasks.identifier = ?
                    """), arguments: [session.rawValue, number]
        ).map { TaskID($0) }
    }

    /// Returns the first unfinished task whose destination is the file at a path.
    package func unfinishedTask(to path: String) throws -> TaskRecord? {
        try fetchTasks(
            "WHERE tasks.destination_path = ? AND tasks.ended_at IS NULL ORDER BY tasks.id LIMIT 1", [path]
        ).first
    }

    /// Returns the unfinished tasks that an equal request could reuse: those with the URL of `record`.
    package func tasksToJoin(_ record: TaskRecord) throws -> [TaskRecord] {
        guard let url = record.joinURL else { return [] }
        return try fetchTasks(
            "WHERE tasks.join_url = ? AND tasks.ended_at IS NULL ORDER BY tasks.id LIMIT 100", [url])
    }

    package func task(resumeData: String) throws -> TaskRecord? {
        try fetchTasks("WHERE tasks.resume_data = ?", [resumeData]).first
    }

    /// Returns the unfinished tasks with all bytes received. After a crash, such a task may be only partly moved to its
    /// destination.
    package func finishingTasks() throws -> [TaskRecord] {
        try fetchTasks("WHERE tasks.state = 'finishing' ORDER BY tasks.id", [])
    }

    /// Returns the paths of all partial files, including those of ended tasks with resume data.
    package func partialPaths() throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT partial_path FROM tasks WHERE partial_path IS NOT NULL")
    }

    /// Returns the paths of all copies of uploaded files, including those of ended tasks with resume data.
    package func snapshotPaths() throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: """
                SELECT copy.value FROM tasks, json_each(iif(json_valid(snapshots), snapshots, '[]')) AS copy
                WHERE snapshots IS NOT NULL AND copy.type = 'text' AND (ended_at IS NULL OR resume_data IS NOT NULL)
                """)
    }

    /// Returns tasks that ended at least `seconds` ago in observed time and that have no pending messages.
    package func forgettableTasks(endedFor seconds: Double, now: ClockReading, limit: Int) throws -> [TaskRecord] {
        try fetchTasks(
            """
            WHERE tasks.state IN ('completed', 'failed', 'cancelled')
                AND tasks.ended_seen <= (SELECT seen_before FROM clock) + ?
                AND NOT EXISTS (SELECT 1 FROM messages WHERE task = tasks.id) LIMIT ?
            """, [now.bootSeconds - seconds, limit])
    }

    /// Returns whether the task has a row, readable or not.
    package func has(_ id: TaskID) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?)", arguments: [id.rawValue])
            ?? false
    }

    package func taskCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM tasks") ?? 0
    }

    package func delete(_ id: TaskID) throws {
        try db.cachedStatement(sql: "DELETE FROM tasks WHERE id = ?").execute(arguments: [id.rawValue])
    }

    package func countsByState() throws -> [TaskState: Int] {
        // Up to a million tasks may be waiting. Their number is therefore calculated from the total, which SQLite
        // counts in the smallest index.
        var counts: [TaskState: Int] = [:]
        let rows = try Row.fetchAll(
            db, sql: "SELECT state, count(*) AS number FROM tasks WHERE state <> 'waiting' GROUP BY state")
        for row in rows {
            if let state = TaskState(rawValue: row["state"]) { counts[state] = row["number"] }
        }
        let all = try Int.fetchOne(db, sql: "SELECT count(*) FROM tasks") ?? 0
        counts[.waiting] = all - counts.values.reduce(0, +)
        return counts
    }

    /// Returns the ids of unfinished tasks of one session, or of all.
    package func unfinishedTasks(session: SessionID?) throws -> [TaskID] {
        let condition = session == nil ? "" : "AND session = (SELECT id FROM sessions WHERE identifier = ?)"
        let arguments: StatementArguments = session.map { [$0.rawValue] } ?? []
        return try Int64.fetchAll(
            db, sql: "SELECT id FROM tasks WHERE ended_at IS NULL \(condition) ORDER BY id", arguments: arguments
        ).map { TaskID($0) }
    }

    /// Returns the tasks of the readable rows.
    func fetchTasks(_ condition: String, _ arguments: StatementArguments) throws -> [TaskRecord] {
        try fetchRows(condition, arguments).records
    }

    /// Returns all rows. An unreadable row does not affect other rows.
    private func fetchRows(_ condition: String, _ arguments: StatementArguments) throws -> TaskRows {
        let statement = try db.cachedStatement(
            sql: "\(TaskStatements.rows) \(condition)")
        var rows = TaskRows()
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        while let row = try cursor.next() {
            let id = TaskID(row["id"])
            rows.last = id
            do {
                rows.records.append(try TaskRecord(row: row))
            } catch {
                let found = UnreadableTask(id: id, reason: Columns.words(for: error))
                rows.unreadable.append(found)
                unreadable.add(found)
            }
        }
        return rows
    }
}
