/// A task that a probe registers, submits and runs.
package struct ScheduledTaskOrder: Sendable, Codable {
    package var identifier: String
    package var kind: Kind
    /// Where it is submitted; nil: never, as somebody else does that.
    package var point: Point?
    /// Seconds from then on before which it is not to begin.
    package var earliestBegin: Double?
    package var requiresPower = false
    package var requiresNetwork = false
    /// For ``Kind/continued``.
    package var title = "Title"
    package var subtitle = "Subtitle"
    package var failsWithoutRoom = false
    /// Whether its launch handler submits it again, first of all.
    package var isRepeated = false
    package var conduct = Conduct.complete
    /// Seconds until it completes, for ``Conduct/complete`` and ``Conduct/fail``.
    package var delay: Double = 0
    /// It completes once this file is there.
    package var gate: String?
    /// For ``Kind/continued``: the units of its progress, told one by one over ``delay``.
    package var units: Int64 = 0

    package enum Kind: String, Sendable, Codable {
        case refresh, processing, continued
    }

    package enum Conduct: String, Sendable, Codable {
        /// Completes successfully; unsuccessfully where it expires before.
        case complete
        /// Completes without success.
        case fail
        /// Completes when it expires, without success.
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
