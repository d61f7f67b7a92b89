import NightshiftAPI
import Scheduler

/// A doze machine with a clock. The scene records the machine's changes as text.
struct DozeScene {
    var machine: DozeMachine
    var conditions = DeviceConditions()
    var time: Double
    /// Whether the device answers each request for a reading at once with ``conditions``.
    var answersAtOnce = true
    /// Every change with its time in seconds.
    private(set) var log: [String] = []

    init(from start: Double = 0) {
        time = start
        machine = DozeMachine(state: DozeMachine.State(since: start))
    }

    var now: ClockReading { ClockReading(bootID: "boot", bootSeconds: time, wallSeconds: time) }

    mutating func device(_ change: (inout DeviceConditions) -> Void) {
        change(&conditions)
        note(machine.changed(to: conditions, now: now))
    }

    mutating func activity(held: Bool = false, busy: Bool = false, wakes: Bool = false) {
        note(machine.changed(held: held, busy: busy, wakes: wakes, now: now))
    }

    mutating func request(_ phase: DozePhase) -> AwakeReason? {
        switch machine.request(phase, now: now) {
        case .success(let changes):
            note(changes)
            return nil
        case .failure(let refusal): return refusal.reason
        }
    }

    /// Advances the time, with a tick at each deadline.
    mutating func wait(until end: Double) {
        while let deadline = machine.nextDeadline, deadline <= end {
            time = max(time, deadline)
            let before = log.count
            note(machine.tick(now: now))
            // A deadline that passes without a change would be repeated forever.
            if log.count == before, machine.nextDeadline.map({ $0 <= time }) ?? false {
                log.append("stuck \(Int(saturating: time))")
                break
            }
        }
        time = end
    }

    /// Returns the changes since the last call, for example "dozeBegan 60".
    mutating func changes() -> [String] {
        defer { log = [] }
        return log
    }

    /// Answers the request for a reading of this time.
    mutating func confirm(asOf time: Double) {
        note(machine.confirmed(asOf: time, now: now))
    }

    private mutating func note(_ changes: [DozeMachine.Change]) {
        let answered = answersAtOnce ? machine.confirmed(asOf: time, now: now) : []
        for change in changes + answered {
            let words =
                switch change {
                case .dozeBegan: "doze"
                case .dozeEnded(let reason): "awake: \(reason.rawValue)"
                case .windowOpened(let reason): "window: \(reason.rawValue)"
                case .windowClosed: "closed"
                }
            log.append("\(words) \(Int(saturating: time))")
        }
    }
}
