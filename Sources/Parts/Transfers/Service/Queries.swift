package import Foundation
package import NightshiftAPI

/// A query for tasks, in the order of their ids.
package struct TaskQuery: Sendable {
    /// The tasks to list; nil lists all tasks.
    package var tasks: Set<TaskID>?
    package var session: SessionID?
    package var states: Set<TaskState>?
    /// The id after which the page begins.
    package var after: TaskID?
    /// The maximum number of tasks on one page, 1...``Limits/pageSize``.
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

/// A query for journal entries, oldest first.
package struct JournalQuery: Sendable {
    package var task: TaskID?
    /// The app whose entries are listed: entries about the app itself, and entries about tasks of its sessions.
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

/// The filter of an event stream.
package struct EventQuery: Sendable {
    /// The tasks whose events are in the stream; nil for all tasks.
    package var tasks: Set<TaskID>?
    package var session: SessionID?
    /// The last entry that the reader received; nil begins with the next new entry.
    package var lastEventID: Int64?
    /// Whether the stream includes ``ServiceEvent/progress(_:)``.
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
