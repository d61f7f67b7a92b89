/// The current request to the location sources.
package struct FixDemand: Hashable, Sendable {
    /// The requested accuracy in metres of one immediate fix; nil if the receiver must stay off.
    package var fix: Double?
    /// Whether the sources report changes as they occur: new cells, or fixes from the network. The receiver stays off
    /// while the sources do this.
    package var watchesChanges: Bool
    /// The number of seconds after which the sources report the best fix so far, even if it is not accurate enough.
    package var timeout: Double

    /// The timeout of background requests in seconds. Even a receiver that was off finds its satellites in less time.
    package static let usualTimeout = 60.0

    package init(fix: Double? = nil, watchesChanges: Bool = false, timeout: Double = usualTimeout) {
        self.fix = fix
        self.timeout = timeout
        self.watchesChanges = watchesChanges
    }
}

/// An update from the location sources.
package enum FixUpdate: Hashable, Sendable {
    /// The location of the device, and its source: `gpsd`, `geoclue` or `override`.
    case fix(Fix, source: String)
    /// The cell of the modem, as a string that identifies it. The time is on the clock of ``Fix/time``.
    case cell(String, time: Double)
    /// The end of a request for a fix, whether there was a fix or not. The receiver was on for this number of seconds.
    case receiver(seconds: Double)
    /// The available sources. This update is sent first, and after every change.
    case sources(
        [LocationStatus.SourceStatus], canMonitorRegions: Bool, canMonitorSignificantChanges: Bool)
}

/// A source of location updates on request.
///
/// Every method may be called from any thread. The methods block only while they wait for a lock for a short time, and
/// ``look()`` suspends.
package protocol FixSource: Sendable {
    /// The updates in order, for a single reader. The stream ends after ``shutdown()``.
    var updates: AsyncStream<FixUpdate> { get }

    /// Sets the current request, which replaces the previous one.
    ///
    /// A request with ``FixDemand/fix`` asks for one fix, even if a fix was reported before. The source reports the fix
    /// as soon as it is accurate enough, or the best fix after ``FixDemand/timeout``. The receiver is then switched
    /// off, and ``FixUpdate/receiver(seconds:)`` ends the request. If no source can report locations, only
    /// ``FixUpdate/receiver(seconds:)`` is sent, after a short time.
    ///
    /// A request without ``FixDemand/fix`` ends a running request for a fix. Each call checks which sources are
    /// available, so that the service finds new sources.
    func want(_ wish: FixDemand)

    /// Checks which sources are available, whatever the current request is. This takes a few seconds at most.
    ///
    /// - Returns: ``FixUpdate/sources(_:canMonitorRegions:canMonitorSignificantChanges:)``, which is also sent in
    ///   ``updates`` if it has changed; nil after ``shutdown()``.
    func look() async -> FixUpdate?

    /// Begins to free all resources, and ends ``updates``.
    func shutdown()
}
