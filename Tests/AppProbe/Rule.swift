/// A rule of what a probe does at a point of its life.
package struct Rule: Sendable, Codable {
    package var point: Point
    package var deed: Deed
    /// The description of the task to which the rule applies. Nil means any task, and points that do not concern a
    /// task.
    package var task: String?
    /// The number of bytes after which the rule applies at ``Point/progress``.
    package var bytes: Int64 = 0
    /// The number of times that the rule applies, counted over all launches. Nil means always.
    package var times: Int?
    /// The file whose existence ends ``Deed/hold``.
    package var gate: String?
    /// The id of the process for ``Deed/halt``.
    package var process: Int32?

    package enum Deed: String, Sendable, Codable {
        /// Calls `_exit(9)`.
        case crash
        /// Calls `exit(0)`.
        case exit
        /// Does not return from the callback.
        case hold
        /// Sends SIGSTOP to a process. The service, for example, then does not observe later events.
        case halt
        /// Starts a child that uses the processor without pause.
        case spin
        /// Cancels the task with resume data, and makes another task from it.
        case cancelAndResume
        /// Makes another task from the resume data of the task's error.
        case retry
    }

    package init(_ point: Point, _ deed: Deed, task: String? = nil, times: Int? = 1) {
        self.point = point
        self.deed = deed
        self.task = task
        self.times = times
    }
}
