package import Foundation
package import NightshiftAPI

/// Which tasks to list, in the order of their ids.
package struct TaskQuery: Sendable {
    /// Nil: all.
    package var tasks: Set<TaskID>?
    package var session: SessionID?
    package var states: Set<TaskState>?
    /// Only ids greater than this.
    package var after: TaskID?
    /// 1...``Limits/pageSize``.
    package var limit: Int

    package init(
        tasks: Set<TaskID>? = nil, session: SessionID? = nil, states: Set<TaskState>? = nil, after: TaskID? = nil,
        limit: Int
    ) {
        self.tasks = tasks
        self.session = session
        self.states = states
        self.after = after
        self.limit = limit
    }
}

/// Which journal entries to list, oldest first.
package struct JournalQuery: Sendable {
    package var task: TaskID?
    /// Entries about the app, and about tasks of its sessions.
    package var app: AppID?
    package var since: Date?
    package var after: Int64
    package var limit: Int

    package init(
        task: TaskID? = nil, app: AppID? = nil, since: Date? = nil, after: Int64 = 0, limit: Int
    ) {
        self.task = task
        self.app = app
        self.since = since
        self.after = after
        self.limit = limit
    }
}

/// What a stream of events carries.
package struct EventQuery: Sendable {
    /// Nil: of all tasks.
    package var tasks: Set<TaskID>?
    package var session: SessionID?
    /// The last entry the reader has; nil starts with the next one to come.
    package var lastEventID: Int64?
    /// Whether ``ServiceEvent/progress(_:)`` is wanted.
    package var progress: Bool

    package init(
        tasks: Set<TaskID>? = nil, session: SessionID? = nil, lastEventID: Int64? = nil, progress: Bool = true
    ) {
        self.tasks = tasks
        self.session = session
        self.lastEventID = lastEventID
        self.progress = progress
    }
}
