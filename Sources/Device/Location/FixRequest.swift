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

    /// Seconds after which the best that came is taken.
    static let patience = 60.0
    /// Seconds after which the other source is asked beside the one that was chosen.
    static let secondOpinion = 20.0
    /// Metres. For less than that the receiver is the first to be asked: a boundary is near.
    static let near = 200.0

    private(set) var accuracy: Double
    private(set) var begun: Double
    private(set) var best: Candidate?
    private var onSince: Double?
    private var seconds = 0.0

    init(accuracy: Double, now: Double) {
        self.accuracy = accuracy
        begun = now
    }

    var isNear: Bool { accuracy < Self.near }
    var deadline: Double { begun + Self.patience }
    var otherSourceDeadline: Double { begun + Self.secondOpinion }

    /// A fix is wanted once more, before one was told.
    mutating func askAgain(accuracy: Double, now: Double) {
        self.accuracy = accuracy
        begun = now
    }

    /// - Parameter isFinal: whether no better one is to be expected.
    /// - Returns: whether it is what was asked for.
    mutating func add(_ fix: Fix, from source: String, isFinal: Bool = false) -> Bool {
        // Of two that are as good the later one: the device may move.
        if best.map({ fix.accuracy <= $0.fix.accuracy }) ?? true { best = Candidate(fix: fix, source: source) }
        return isFinal || fix.accuracy <= accuracy
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
