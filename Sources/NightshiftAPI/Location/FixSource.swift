/// What is wanted of the sources of places now.
package struct FixWish: Hashable, Sendable {
    /// Metres of accuracy wanted of one fix now; nil: the receiver stays off.
    package var fix: Double?
    /// Whether changes of place are to be told as they come: new cells, or fixes of the network. The receiver stays off for them.
    package var watchesChanges: Bool
    /// Seconds after which the sources tell the best fix so far, though it is less accurate.
    package var patience: Double

    /// For what happens while nobody waits: a receiver that was off finds its satellites in less.
    package static let usualPatience = 60.0

    package init(fix: Double? = nil, watchesChanges: Bool = false, patience: Double = usualPatience) {
        self.fix = fix
        self.patience = patience
        self.watchesChanges = watchesChanges
    }
}

/// What the sources of places say.
package enum FixUpdate: Hashable, Sendable {
    /// Where the device is, by which source: `gpsd`, `geoclue` or `override`.
    case fix(Fix, source: String)
    /// The modem is in this cell: a text that tells one cell from another. The time is that of ``Fix/time``.
    case cell(String, time: Double)
    /// A request for a fix has ended, with a fix before this or without one; the receiver was on for so many seconds.
    case receiver(seconds: Double)
    /// What there is. Comes first of all, and whenever it has changed.
    case sources(
        [LocationStatus.SourceStatus], canMonitorRegions: Bool, canMonitorSignificantChanges: Bool)
}

/// Tells where the device is, as far as that is wanted.
///
/// Every method may be called from any thread and blocks for no longer than a lock; ``look()`` suspends.
package protocol FixSource: Sendable {
    /// What the sources say, in its order. For one reader. Ends with ``shutdown()``.
    var updates: AsyncStream<FixUpdate> { get }

    /// Says what is wanted from now on, in place of what was wanted before.
    ///
    /// A wish with ``FixWish/fix`` asks for one fix now, and asks again where one was told before: it is told as soon as it is
    /// accurate enough, or is the best that came within ``FixWish/patience``. Then the receiver is released, and ``FixUpdate/receiver(seconds:)``
    /// ends the request; where nobody can tell places, it comes alone and soon. A wish without it ends a request that is under
    /// way. Each call has the sources looked at, so that one which has come to be there since is found.
    func want(_ wish: FixWish)

    /// Has the sources looked at, whatever is wanted of them. It takes seconds at most.
    ///
    /// - Returns: ``FixUpdate/sources(_:canMonitorRegions:canMonitorSignificantChanges:)``, which is among ``updates`` as well where
    ///   it has changed; nil behind ``shutdown()``.
    func look() async -> FixUpdate?

    /// Releases everything, soon, and ends ``updates``.
    func shutdown()
}
