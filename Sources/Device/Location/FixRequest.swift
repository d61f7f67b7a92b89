import NightshiftAPI

/// A request in progress for one fix: the best fix so far, and the time for which the receiver was on.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct FixRequest: Equatable {
    /// A fix with its source.
    struct Candidate: Equatable {
        var fix: Fix
        var source: String
    }

    /// Seconds after which the second source is also asked; less for a request with a shorter time.
    static let secondOpinion = 20.0
    static let lookTimeout = 5.0
    /// Seconds within which a receiver that reports accuracies begins to do so.
    static let assumedTimeout = 5.0
    /// Metres. For a smaller accuracy the receiver is asked first, because a boundary is near.
    static let near = 200.0

    private(set) var accuracy: Double
    /// Seconds after which the best fix so far is taken.
    private var timeout: Double
    private(set) var begun: Double
    /// The time at which gpsd was last reached.
    private var greetedAt: Double?
    private(set) var best: Candidate?
    /// The time of the first fix.
    private var firstFix: Double?
    /// The time of the first fix without a reported accuracy.
    private var assumedSince: Double?
    /// The progress of the satellite receiver, if it is on for this request alone.
    private var progress = FixProgress()
    /// The time since which a receiver is on; nil while none is on.
    private(set) var onSince: Double?
    private var seconds = 0.0

    init(accuracy: Double, timeout: Double, now: Double) {
        self.accuracy = accuracy
        self.timeout = timeout
        begun = now
    }

    var isNear: Bool { accuracy < Self.near }
    /// The time at which the request ends. A request with less than the usual time ends sooner after its first fix.
    var deadline: Double {
        guard let firstFix, timeout < FixDemand.usualTimeout else { return begun + timeout }
        return min(begun + timeout, firstFix + FixProgress.steady)
    }
    /// The time at which a gpsd without a reported receiver counts as having none. A gpsd that has just started reports
    /// it a moment later.
    var lookDeadline: Double { max(begun, greetedAt ?? begun) + Self.lookTimeout }
    var otherSourceDeadline: Double { begun + min(Self.secondOpinion, timeout / 3) }

    /// Handles another request for a fix while one is in progress.
    mutating func askAgain(accuracy: Double, timeout: Double, now: Double) {
        self.accuracy = accuracy
        self.timeout = timeout
        begun = now
    }

    mutating func gpsdGreeted(now: Double) { greetedAt = now }

    /// - Parameter isAssumed: whether the accuracy is not reported. A receiver reports it only after its first
    ///   sentences; one that never does will not deliver better fixes later. The same holds for one whose accuracy has
    ///   stayed the same for some seconds.
    /// - Returns: whether the fix satisfies the request.
    mutating func add(_ fix: Fix, from source: String, isAssumed: Bool = false) -> Bool {
        firstFix = firstFix ?? fix.time
        // Of two equally good fixes the later one is taken, because the device may move.
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
