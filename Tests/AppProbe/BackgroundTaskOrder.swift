/// An instruction to the probe to begin, end or report background tasks.
package struct BackgroundTaskOrder: Sendable, Codable {
    package var deed: Deed
    /// The point at which the order is executed.
    package var point: Point
    /// The delay in seconds after ``point``. With 0, the order is executed at once, within the callback.
    package var delay: Double = 0
    /// A file whose existence the order waits for. The callback at ``point`` does not wait.
    package var gate: String?
    /// The name of the task. With ``count``, the name of each task.
    package var name: String
    /// The number of tasks for ``Deed/begin``. Each task begins at the same time on its own thread.
    package var count = 1
    /// The behaviour of the expiration handlers of tasks that ``Deed/begin`` begins.
    package var handler = Handler.end
    /// The time in seconds between two of the ``count`` reports for ``Deed/report``.
    package var interval: Double = 0

    package enum Deed: String, Sendable, Codable {
        case begin
        /// Ends every open task with this name.
        case end
        /// Records the remaining time in the journal.
        case report
    }

    package enum Handler: String, Sendable, Codable {
        /// The task has no handler.
        case none
        /// Ends every open task with the name of its task.
        case end
        /// Returns without ending its task.
        case keep
        /// Never returns.
        case hold
    }

    package init(_ deed: Deed, _ name: String = "task", at point: Point) {
        self.deed = deed
        self.name = name
        self.point = point
    }
}
