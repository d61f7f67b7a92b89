/// An order about a scheduled task, which the probe registers, submits and runs.
package struct ScheduledTaskOrder: Sendable, Codable {
    package var identifier: String
    package var kind: Kind
    /// The point at which the probe submits the task. Nil means never, because another process submits the task.
    package var point: Point?
    /// The time in seconds after this point before which the task must not begin.
    package var earliestBegin: Double?
    package var requiresPower = false
    package var requiresNetwork = false
    /// The title for ``Kind/continued``.
    package var title = "Title"
    package var subtitle = "Subtitle"
    package var failsWithoutRoom = false
    /// Whether the launch handler first submits the task again.
    package var isRepeated = false
    package var conduct = Conduct.complete
    /// The time in seconds before the task completes, for ``Conduct/complete`` and ``Conduct/fail``.
    package var delay: Double = 0
    /// A file whose existence the completion waits for.
    package var gate: String?
    /// The units of progress for ``Kind/continued``, reported one by one during ``delay``.
    package var units: Int64 = 0

    package enum Kind: String, Sendable, Codable {
        case refresh, processing, continued
    }

    package enum Conduct: String, Sendable, Codable {
        /// Completes successfully. If the task expires first, the probe completes it without success.
        case complete
        /// Completes without success.
        case fail
        /// Completes without success when the task expires.
        case expire
        /// Has no expiration handler, and never completes.
        case ignore
        /// Has an expiration handler, and never completes.
        case keep
    }

    package init(_ identifier: String, _ kind: Kind, at point: Point? = nil) {
        self.identifier = identifier
        self.kind = kind
        self.point = point
    }
}
