import NightshiftAPI
import Scheduler

/// A transfer that exists in a trace alone.
struct Transfer {
    let id: TaskID
    /// Nil for one that a person asked for.
    let app: AppID?
    /// The session, as the app calls it.
    let session: String
    let lane: Int
    let priority: Double
    let bytes: Int64
    /// The conditions that it needs; ``discretion`` says how good a moment it waits for.
    var rules: TransferRules
    private var isDiscretionForced = false
    private var loosensAt: Double?
    var attempts = AttemptRecord()
    var received = 0.0
    /// When it fails.
    let limit: Discretion.TimeLimit
    var pause: Pause?
    var state = State.waiting
    /// Boot seconds from which on it has waited.
    var waitsFrom: Double

    /// A time of its own in which it does not start.
    struct Pause {
        /// Boot seconds.
        var until: Double
        var reason: WaitReason
    }

    enum State: Hashable {
        /// Until its ``Transfer/pause`` is over.
        case paused
        case waiting
        /// From a boot second on.
        case running(since: Double)
        case ended
    }

    /// - Parameter isForced: whether it waits for a good moment because its app is in the background.
    init(_ request: TracedTransfer, id: TaskID, app: AppID?, lane: Int, isForced: Bool, now: Double) {
        self.id = id
        self.app = app
        self.lane = lane
        session = request.session
        priority = request.priority
        bytes = request.bytes
        rules = request.rules
        limit = Discretion.TimeLimit(deadline: now + request.resourceTimeout, timeout: request.resourceTimeout)
        waitsFrom = now
        discretion.schedule(limit)
        if isForced { discretion.force(limit) }
    }

    /// How good a moment it waits for, and for how long.
    var discretion: Discretion {
        get { Discretion(rules.discretion, isForced: isDiscretionForced, loosensAt: loosensAt) }
        set {
            rules.discretion = newValue.level
            isDiscretionForced = newValue.isForced
            loosensAt = newValue.loosensAt
        }
    }

    var isLarge: Bool { missing >= Double(Admission.largeSize) }
    var missing: Double { max(0, Double(bytes) - received) }
    var hasFailed: Bool { attempts.fruitless > 0 }
    /// Whole bytes that are here: each attempt goes on behind them.
    var count: Int64 { Int64(saturating: received) }
}
