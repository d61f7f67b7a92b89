import Apps
import NightshiftAPI
import Store
import Testing

/// Background tasks, doze and policies in the walk, and a model of an app's background time.
extension AppWalk {
    /// The background time that the machine's actions have granted, paused, continued and warned about.
    struct Budget {
        var left: Double
        /// The awake seconds since which the time elapses; nil while it is paused.
        var from: Double?
        /// The awake seconds at which the app was warned.
        var toldAt: Double?

        func remaining(_ now: ClockReading) -> Double {
            max(0, left - (from.map { now.awakeSeconds - $0 } ?? 0))
        }

        mutating func stop(_ now: ClockReading) {
            left = remaining(now)
            from = nil
        }

        mutating func resume(_ now: ClockReading) {
            if from == nil { from = now.awakeSeconds }
        }
    }

    /// The pid of a secondary process of the app.
    static let guest: Int32 = 9_999
    /// The tolerance in seconds: more than the rounding errors of the journal and of nanoseconds.
    private static let tolerance = 0.001

    // MARK: - Inputs

    mutating func beginTask() {
        let isGuest = Int.random(in: 0..<4, using: &random) == 0
        let number = Int64.random(in: 1...6, using: &random)
        guard let process, isGuest || process.isConnected else { return }
        // This also happens while the app is frozen, because the app may have sent the request before.
        begin(number, of: isGuest ? Self.guest : nil)
    }

    mutating func begin(_ number: Int64, of guest: Int32?) {
        let wasSuspended = machine.record.state == .suspended
        let remaining = budget?.remaining(now)
        var refusal: BackgroundTaskRefusal?
        feed("begin \(guest.map { "\($0):" } ?? "")\(number)") { machine, now in
            switch machine.beginTask(number, of: guest, name: "task \(number)", now: now) {
            case .success(let actions): return actions
            case .failure(let failure):
                refusal = failure
                return []
            }
        }
        switch refusal {
        case nil:
            if guest == nil { process?.tasks.insert(number) } else { process?.guestTasks.insert(number) }
        case .noTime:
            if guest == nil { process?.tasks.remove(number) } else { process?.guestTasks.remove(number) }
            if !wasSuspended, remaining ?? .infinity > lead + Self.tolerance {
                fail("A task is refused with \(remaining ?? -1) s left.")
            }
        case .ending:
            if process?.isAskedToEnd == false { fail("It is not being ended.") }
        case .notRunning, .tooMany: fail("A task is refused for no reason.")
        }
    }

    mutating func endTask() {
        guard let process else { return }
        if let number = process.tasks.randomElement(using: &random) { return end(number, of: nil) }
        if let number = process.guestTasks.randomElement(using: &random) { return end(number, of: Self.guest) }
        feed("end of a task that is not open") { $0.endTask(77, now: $1) }
    }

    mutating func end(_ number: Int64, of guest: Int32?) {
        if guest == nil { process?.tasks.remove(number) } else { process?.guestTasks.remove(number) }
        feed("end \(guest.map { "\($0):" } ?? "")\(number)") { $0.endTask(number, of: guest, now: $1) }
    }

    mutating func guestLeaves() {
        process?.guestTasks = []
        feed("the guest leaves") { $0.guestLeft(Self.guest, now: $1) }
    }

    mutating func change(to phase: DozePhase) {
        self.phase = phase
        feed("\(phase)") { $0.apply(phase, now: $1) }
    }

    mutating func changePolicy() {
        let policies: [BackgroundPolicy] = [
            .contiguous, .opportunistic, .brief, BackgroundPolicy(.opportunistic, seconds: 10),
        ]
        terms.policy = policies.randomElement(using: &random) ?? .brief
        feed("\(terms.policy)") { $0.termsChanged(now: $1) }
    }

    /// Lets the machine sleep. Limits do not elapse meanwhile, but pauses in wall time do. Afterwards this checks
    /// deadlines, as the service does.
    mutating func machineSleeps(_ seconds: Double) {
        now.bootSeconds += seconds
        now.wallSeconds += seconds
        updateWantedWakes()
    }

    // MARK: - Actions of the machine

    mutating func apply(_ decision: Decision, _ inputs: [String: String]) {
        switch decision {
        case .stintBegan:
            if budget != nil { fail("A background run begins within one.") }
            hasBackgroundRun = true
            budget = inputs["seconds"].flatMap(Double.init).map { Budget(left: $0, from: now.awakeSeconds) }
        case .stintEnded:
            hasBackgroundRun = false
            budget = nil
        case .appWoken:
            guard budget != nil else { return }
            budget?.left = terms.policy.seconds
            budget?.toldAt = nil
            if budget?.from != nil { budget?.from = now.awakeSeconds }
        case .backgroundTimeExpiring:
            guard let remaining = budget?.remaining(now) else { return fail("It expires without a limit.") }
            if remaining > lead + Self.tolerance { fail("The app is warned with \(remaining) s left.") }
            budget = Budget(left: max(remaining, lead), from: now.awakeSeconds, toldAt: now.awakeSeconds)
        default: break
        }
    }

    var lead: Double { min(terms.lead, terms.policy.seconds / 2) }

    // MARK: - Rules

    /// Checks the end of a process that the service ended because its background time was over.
    mutating func checkEnd(toldAt: Double?, killedAt: Double?) {
        guard let killedAt, let toldAt else { return fail("It was ended and never told.") }
        if killedAt < toldAt + lead - Self.tolerance { fail("It was told at \(toldAt) and ended at \(killedAt).") }
    }

    mutating func checkBackgroundTime(_ process: Process, _ standsStill: Bool) {
        let status = machine.background(now: now)
        let state = machine.record.state
        if standsStill {
            if state != .background { fail("It stands still, and is \(state).") }
            if phase != .dozing || terms.policy.kind != .opportunistic { fail("It stands still outside of doze.") }
            if status.tasks.isEmpty { fail("It stands still with nothing to do.") }
        }
        if state == .suspended, process.isConnected, !process.tasks.isEmpty || !process.guestTasks.isEmpty {
            fail("It is suspended with open tasks \(process.tasks) and \(process.guestTasks).")
        }
        if phase == .dozing, state == .background, process.isManaged, !process.isFrozen, !process.isAskedToEnd,
            machine.nextDeadline == nil, !isContinuing
        {
            fail("It runs in doze without a limit.")
        }
        let isInFront = state == .active || state == .inactive
        if isInFront, status.remaining != nil || machine.clock != .unlimited { fail("Its time is limited in front.") }
        if let remaining = status.remaining, remaining < 0 { fail("It has \(remaining) s left.") }
        checkClock(status)
        for backgroundRun in status.stints where backgroundRun.seconds < 0 {
            fail("A background run took \(backgroundRun.seconds) s.")
        }
        if status.stints.count > Limits.backgroundRuns + 1 { fail("It keeps \(status.stints.count) background runs.") }
    }

    /// Checks that the process reads the same time as in the model.
    private mutating func checkClock(_ status: BackgroundStatus) {
        let shown = machine.clock.remaining(atNanoseconds: Int64(saturating: (now.awakeSeconds * 1e9).rounded()))
        if isContinuing, machine.isManaged {
            if shown != .infinity || status.remaining != nil {
                fail("A continued task is under way, and the app has \(shown) s.")
            }
            return
        }
        guard let budget, !machine.record.state.isEnd else {
            if shown != .infinity { fail("Without a background run it has \(shown) s.") }
            return
        }
        guard abs(shown - budget.remaining(now)) < Self.tolerance,
            abs((status.remaining ?? .infinity) - budget.remaining(now)) < Self.tolerance
        else { return fail("It reads \(shown) s, and has \(budget.remaining(now)) s.") }
    }
}

extension AppState {
    fileprivate var isEnd: Bool { self == .notRunning }
}
