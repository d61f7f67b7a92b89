/// Something that a probe does with background tasks.
package struct BackgroundTaskOrder: Sendable, Codable {
    package var deed: Deed
    /// Where it is done.
    package var point: Point
    /// Seconds behind ``point``; 0 is at once, within the callback.
    package var delay: Double = 0
    /// It is done once this file is there; what waits at ``point`` goes on meanwhile.
    package var gate: String?
    /// The task's; with ``count``, of each of them.
    package var name: String
    /// For ``Deed/begin``: so many tasks at once, each from a thread of its own.
    package var count = 1
    /// For ``Deed/begin``: what their expiration handlers do.
    package var handler = Handler.end
    /// For ``Deed/report``: seconds between two reports, of which there are ``count``.
    package var interval: Double = 0

    package enum Deed: String, Sendable, Codable {
        case begin
        /// Ends every open task of this name.
        case end
        /// Writes the time that is left into the journal.
        case report
    }

    package enum Handler: String, Sendable, Codable {
        /// No handler at all.
        case none
        /// Ends every open task of its name.
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
