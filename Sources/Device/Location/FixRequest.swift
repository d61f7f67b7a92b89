import NightshiftAPI

/// A request for one fix that is under way: the best that came, and for how long the receiver was on for it.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct FixRequest: Equatable {
    /// A fix with its source.
    struct Candidate: Equatable {
        var fix: Fix
        var source: String
    }

    /// Seconds after which the other source is asked beside the one that was chosen; less for who waits less.
    static let secondOpinion = 20.0
    static let lookPatience = 5.0
    /// Seconds in which a receiver that tells accuracies begins to.
    static let assumedPatience = 5.0
    /// Metres. For less than that the receiver is the first to be asked: a boundary is near.
    static let near = 200.0

    private(set) var accuracy: Double
    /// Seconds after which the best that came is taken.
    private var patience: Double
    private(set) var begun: Double
    /// When gpsd was reached last.
    private var greetedAt: Double?
    private(set) var best: Candidate?
    /// The time of the first fix.
    private var firstFix: Double?
    /// When the first fix came whose accuracy nobody tells.
    private var assumedSince: Double?
    /// The progress of the satellite receiver, which is on for this alone.
    private var progress = FixProgress()
    /// Since when a receiver is on; nil while none is.
    private(set) var onSince: Double?
    private var seconds = 0.0

    init(accuracy: Double, patience: Double, now: Double) {
        self.accuracy = accuracy
        self.patience = patience
        begun = now
    }

    var isNear: Bool { accuracy < Self.near }
    /// A question with less than the usual time ends sooner after its first place.
    var deadline: Double {
        guard let firstFix, patience < FixWish.usualPatience else { return begun + patience }
        return min(begun + patience, firstFix + FixProgress.steady)
    }
    /// When a gpsd without a receiver counts as one that has none: one that has just been started tells of it a moment later.
    var lookDeadline: Double { max(begun, greetedAt ?? begun) + Self.lookPatience }
    var otherSourceDeadline: Double { begun + min(Self.secondOpinion, patience / 3) }

    /// A fix is wanted once more, before one was told.
    mutating func askAgain(accuracy: Double, patience: Double, now: Double) {
        self.accuracy = accuracy
        self.patience = patience
        begun = now
    }

    mutating func gpsdGreeted(now: Double) { greetedAt = now }

    /// - Parameter isAssumed: whether nobody tells its accuracy. A receiver does only after its first sentences; one that never
    ///   does tells no better places later. Neither does one whose accuracy has stayed the same for some seconds.
    /// - Returns: whether it is what was asked for.
    mutating func add(_ fix: Fix, from source: String, isAssumed: Bool = false) -> Bool {
        firstFix = firstFix ?? fix.time
        // Of two that are as good the later one: the device may move.
        if best.map({ fix.accuracy <= $0.fix.accuracy }) ?? true { best = Candidate(fix: fix, source: source) }
        let isSteady = source == "gpsd" && progress.add(fix.accuracy, at: fix.time)
        if fix.accuracy <= accuracy || isSteady && !isAssumed { return true }
        guard isAssumed else { return false }
        let since = assumedSince ?? fix.time
        assumedSince = since
        return fix.time >= since + Self.assumedPatience
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
