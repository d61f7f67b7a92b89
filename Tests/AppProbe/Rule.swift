/// Something that a probe does at some point of its life.
package struct Rule: Sendable, Codable {
    package var point: Point
    package var deed: Deed
    /// The task with this description; nil: any, and points that are not about a task.
    package var task: String?
    /// For ``Point/progress``: from so many bytes on.
    package var bytes: Int64 = 0
    /// How often in all its lives; nil: always.
    package var times: Int?
    /// For ``Deed/hold``: goes on when this file is there.
    package var gate: String?
    /// For ``Deed/halt``: who.
    package var process: Int32?

    package enum Deed: String, Sendable, Codable {
        /// `_exit(9)`.
        case crash
        /// `exit(0)`.
        case exit
        /// Does not return from the callback.
        case hold
        /// SIGSTOP to a process: the service's, before it sees what follows.
        case halt
        /// Starts a child that never rests.
        case spin
        /// Cancels the task for resume data, and makes another from it.
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
