import NightshiftAPI
import Scheduler

/// A simulated transfer.
struct SimulatedTransfer {
    let id: TaskID
    /// The app of the transfer; nil if the user added the transfer.
    let app: AppID?
    /// The name that the app gave the session.
    let session: String
    let lane: Int
    let priority: Double
    let bytes: Int64
    /// The requirements of the transfer, including its discretion.
    var rules: TransferRules
    private var isDiscretionForced = false
    private var relaxesAt: Double?
    var attempts = AttemptRecord()
    var received = 0.0
    /// The time limit of the transfer.
    let limit: Discretion.TimeLimit
    var pause: Pause?
    var state = State.waiting
    /// The time in boot seconds since which the transfer has waited.
    var waitsFrom: Double

    /// A pause of one transfer in which it does not start.
    struct Pause {
        /// The end in boot seconds.
        var until: Double
        var reason: WaitReason
    }

    enum State: Hashable {
        /// The transfer waits for the end of its ``SimulatedTransfer/pause``.
        case paused
        case waiting
        /// The transfer has been running since this boot time in seconds.
        case running(since: Double)
        case ended
    }

    /// - Parameter isForced: whether the transfer is discretionary because its app is in the background.
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

    /// The discretion of the transfer, and the time of its relaxation.
    var discretion: Discretion {
        get { Discretion(rules.discretion, isForced: isDiscretionForced, relaxesAt: relaxesAt) }
        set {
            rules.discretion = newValue.level
            isDiscretionForced = newValue.isForced
            relaxesAt = newValue.relaxesAt
        }
    }

    var isLarge: Bool { missing >= Double(Admission.largeSize) }
    var missing: Double { max(0, Double(bytes) - received) }
    var hasFailed: Bool { attempts.fruitless > 0 }
    /// The number of whole bytes received. Each attempt resumes after them.
    var count: Int64 { Int64(saturating: received) }
}
