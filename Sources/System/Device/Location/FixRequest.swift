import NightshiftAPI

/// A request in progress for one fix, with the best fix so far and the time for which the receiver was on.
///
/// A pure value. Times are seconds of CLOCK_BOOTTIME.
struct FixRequest: Equatable {
    /// A fix and the name of the source that reported it.
    struct Candidate: Equatable {
        var fix: Fix
        var source: String
    }

    /// The number of seconds after which the second source is also asked. A request with a short timeout asks sooner.
    static let secondOpinion = 20.0
    static let lookTimeout = 5.0
    /// The number of seconds within which a receiver that reports accuracies begins to do so.
    static let assumedTimeout = 5.0
    /// The distance in metres that separates near from distant boundaries. If the wanted accuracy is below it, the
    /// receiver is asked first, because a boundary is near.
    static let near = 200.0

    private(set) var accuracy: Double
    /// The number of seconds after which the best fix so far is used.
    private var timeout: Double
    private(set) var begun: Double
    /// The time at which gpsd last sent its greeting.
    private var greetedAt: Double?
    private(set) var best: Candidate?
    /// The time of the first fix.
    private var firstFix: Double?
    /// The time of the first fix without a reported accuracy.
    private var assumedSince: Double?
    /// The progress of the fixes from the satellite receiver, if the receiver is on only for this request.
    private var progress = FixProgress()
    /// The time at which a receiver was switched on; nil while no receiver is on.
    private(set) var onSince: Double?
    private var seconds = 0.0

    init(accuracy: Double, timeout: Double, now: Double) {
        self.accuracy = accuracy
        self.timeout = timeout
        begun = now
    }

    var isNear: Bool { accuracy < Self.near }
    /// The time at which the request ends. A request with a timeout below the usual one ends sooner after its first
    /// fix.
    var deadline: Double {
        guard let firstFix, timeout < FixDemand.usualTimeout else { return begun + timeout }
        return min(begun + timeout, firstFix + FixProgress.steady)
    }
    /// The time at which a gpsd that has not reported a receiver counts as having none. A gpsd that has just started
    /// reports its receivers a moment later.
    var lookDeadline: Double { max(begun, greetedAt ?? begun) + Self.lookTimeout }
    var otherSourceDeadline: Double { begun + min(Self.secondOpinion, timeout / 3) }

    /// Applies another request for a fix to the one in progress.
    mutating func askAgain(accuracy: Double, timeout: Double, now: Double) {
        self.accuracy = accuracy
        self.timeout = timeout
        begun = now
    }

    mutating func gpsdGreeted(now: Double) { greetedAt = now }

    /// Adds a fix to the request.
    ///
    /// - Parameter isAssumed: whether the source did not report the accuracy. A receiver reports accuracies only after
    ///   its first sentences. A receiver that never reports them will not deliver better fixes later, nor will one
    ///   whose accuracy has stayed the same for some seconds.
    /// - Returns: whether the fix satisfies the request.
    mutating func add(_ fix: Fix, from source: String, isAssumed: Bool = false) -> Bool {
        firstFix = firstFix ?? fix.time
        // If two fixes are equally accurate, the later one is used, because the device may move.
        if best.map({ fix.accuracy <= $0.fix.accuracy }) ?? true { best = Candidate(fix: fix, source: source) }
        let isSteady = source == "gpsd" && progress.add(fix.accuracy, at: fix.time)
        if fix.accuracy <= accuracy || isSteady && !isAssumed { return true }
        guard isAssumed else { return false }
        let since = assumedSince ?? fix.time
        assumedSince = since
        return fix.time >= since + Self.assumedTimeout
    }

    mutating func receiver(isOn: Bool, now: Double) {
        if isOn {
            onSince = onSince ?? now
        } else if let since = onSince {
            seconds += max(0, now - since)
            onSince = nil
        }
    }

    func receiverSeconds(now: Double) -> Double {
        seconds + (onSince.map { max(0, now - $0) } ?? 0)
    }
}
