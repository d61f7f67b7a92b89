import NightshiftAPI
import Scheduler
import Transfers

/// Events of transfers, with the journal entries that the service writes for them.
extension TransferQueue {
    /// Begins an admitted transfer. If its host fails, ``failRefused(_:)`` ends the transfer at the same time.
    mutating func begin(_ index: Int, _ moment: DeviceState, _ now: ClockReading) {
        let lane = lanes[transfers[index].lane]
        // Per-origin queues of several sessions may use one host. The first of their transfers is the probe of the
        // host.
        guard hosts.admit(lane.way, now: now.bootSeconds) else { return }
        leaveWaiting(index, now.bootSeconds)
        turns.began(
            hasFailed: transfers[index].hasFailed, lane: transfers[index].lane, connections: lane.maximumConnections)
        transfers[index].state = .running(since: now.bootSeconds)
        transfers[index].attempts.begin()
        transfers[index].attempts.start(from: transfers[index].count)
        guard failing[lane.host] == nil else { return refused.append(index) }
        _ = hosts.answered(lane.way, began: now.bootSeconds)
        running.append(index)
        let isFresh = transfers[index].count == 0
        var entry = entry(isFresh ? .started : .continued, index, now)
        if !isFresh { entry.detail = "From byte \(transfers[index].count)." }
        entry.inputs = needs(of: transfers[index]).inputs(moment)
        entries.append(entry)
    }

    /// Ends transfers that have begun at failing hosts. All transfers that were admitted together have begun before the
    /// first failure becomes known.
    mutating func failRefused(_ now: ClockReading) {
        let refused = refused
        self.refused = []
        for index in refused {
            guard let trouble = failing[lanes[transfers[index].lane].host] else { continue }
            fail(index, trouble, began: now.bootSeconds, now)
        }
    }

    /// Interrupts an attempt, because the device state forbids it or the transfer makes room.
    mutating func interrupt(
        _ index: Int, _ reason: WaitReason, detail: String? = nil, inputs: [String: String]? = nil,
        _ now: ClockReading
    ) {
        running.removeAll { $0 == index }
        transfers[index].attempts.withdraw()
        wait(index, now.bootSeconds)
        if let place = classIndex(of: transfers[index]) {
            setReason(reason, lane: transfers[index].lane, place: place, now.bootSeconds)
        }
        totals.interruptions += 1
        var entry = entry(.held, index, now)
        entry.wait = Wait(reason: reason, since: now.date, detail: detail)
        entry.inputs = inputs
        entries.append(entry)
    }

    /// Fails an attempt with the failure that the trace specifies for the host.
    mutating func fail(_ index: Int, _ trouble: TracedHost.Failing, began: Double, _ now: ClockReading) {
        let transfer = transfers[index]
        let lane = lanes[transfer.lane]
        let failure = trouble.failure
        running.removeAll { $0 == index }
        guard !failure.isPermanent else {
            _ = hosts.answered(lane.way, began: began)
            totals.failed += 1
            return end(index, .failed, error: failure, now)
        }
        let point = FailurePoint(origin: lane.host, stage: trouble.stage)
        let attribution = FailureAttribution.of(
            failure, at: point, own: lane.host, asked: lane.host, hasOwnTLS: false, retryAfter: trouble.retryAfter
        ).ofAttempt(hasAdvanced: transfer.attempts.hasAdvanced(to: transfer.count))
        let attempt = FailurePause.Attempt(
            failure: failure, attribution: attribution, task: transfer.id, way: lane.way, began: began,
            failures: transfer.attempts.failures, retryAfter: trouble.retryAfter)
        let found = FailurePause.after(attempt, in: &hosts, now: now) { Self.jitter }
        transfers[index].attempts.fail()
        pause(index, SimulatedTransfer.Pause(until: found.notBefore, reason: found.reason), now.bootSeconds)
        var entry = entry(.held, index, now)
        entry.wait = Wait(
            reason: found.reason, since: now.date, until: now.wallTime(ofBootSeconds: found.notBefore),
            detail: failure.message)
        entry.error = failure
        entries.append(entry)
    }

    /// The fixed value that replaces the random part of pauses after failures: the mean of that part.
    static let jitter = 0.5

    mutating func end(_ index: Int, _ decision: Decision, error: TransferFailure? = nil, _ now: ClockReading) {
        leaveWaiting(index, now.bootSeconds)
        running.removeAll { $0 == index }
        paused.removeAll { $0 == index }
        if let pause = transfers[index].pause {
            waits.add(pause.reason, index, now.bootSeconds - transfers[index].waitsFrom)
            transfers[index].pause = nil
        }
        transfers[index].state = .ended
        ended.append(transfers[index])
        var entry = entry(decision, index, now)
        entry.error = error
        entries.append(entry)
    }

    private func entry(_ decision: Decision, _ index: Int, _ now: ClockReading) -> JournalEntry {
        JournalEntry(time: now.date, decision: decision, task: transfers[index].id, app: transfers[index].app)
    }

    // MARK: - Events of apps and hosts

    /// Cancels the transfers of an app that the user has force-quit.
    mutating func cancel(_ app: AppID, _ now: ClockReading) {
        for index in transfers.indices where transfers[index].app == app && transfers[index].state != .ended {
            totals.cancelled += 1
            end(index, .cancelled, now)
        }
    }

    /// Clears the background conditions of an app's transfers, because the app is in the foreground.
    mutating func liftConditions(of app: AppID, _ now: ClockReading) {
        var lifted = 0
        for index in transfers.indices where transfers[index].app == app && transfers[index].state != .ended {
            if transfers[index].pause?.reason == .relaunchDelay { endPause(index, now.bootSeconds) }
            guard transfers[index].discretion.isForced else { continue }
            lifted += 1
            changeDiscretion(index, now.bootSeconds) { $0.lift() }
        }
        guard lifted > 0 else { return }
        entries.append(.conditionsLifted(of: app, tasks: lifted, at: now.date))
    }

    /// Records whether a host fails from now on.
    mutating func change(_ host: TracedHost, _ now: ClockReading) {
        // A lost connection ends only the transfers that are running now.
        failing[host.name] = host.failing == .lost ? nil : host.failing
        guard host.failing == .lost else { return }
        for index in running where lanes[transfers[index].lane].host == host.name {
            guard case .running(let since) = transfers[index].state else { continue }
            fail(index, .lost, began: since, now)
        }
    }

    /// Changes the discretion of a transfer, which may move it to another class.
    private mutating func changeDiscretion(_ index: Int, _ now: Double, _ change: (inout Discretion) -> Void) {
        let waits = transfers[index].state == .waiting
        let from = transfers[index].waitsFrom
        if waits { leaveWaiting(index, now) }
        change(&transfers[index].discretion)
        if waits { wait(index, now) } else { transfers[index].waitsFrom = from }
    }

    // MARK: - Time

    /// Returns the time in boot seconds of the next call to ``tick(_:)``.
    func nextDeadline(_ now: Double) -> Double? {
        let share = bytesPerSecond / Double(max(1, running.count))
        let done = running.map { transfers[$0].missing }.min().map { missing in
            // The time is rounded up, so that the transfer is complete at that time.
            ((now + missing / share) * 1_000).rounded(.up) / 1_000
        }
        return [done, timers.last?.time, paused.compactMap { transfers[$0].pause?.until }.min(), nextAdmission]
            .compactMap(\.self).min()
    }

    /// Transfers bytes for a number of seconds, and returns their number.
    mutating func move(_ seconds: Double) -> Double {
        guard !running.isEmpty else { return 0 }
        let share = bytesPerSecond / Double(running.count) * seconds
        var moved = 0.0
        for index in running {
            let bytes = min(share, transfers[index].missing)
            transfers[index].received += bytes
            transfers[index].attempts.advance(to: transfers[index].count)
            moved += bytes
        }
        return moved
    }

    /// Completes transfers whose bytes have arrived, and handles timers.
    mutating func tick(_ now: ClockReading) {
        let time = now.bootSeconds
        // A remainder of half a byte is a rounding error.
        for index in running where transfers[index].missing < 0.5 {
            totals.completed += 1
            end(index, .completed, now)
        }
        while let timer = timers.last, timer.time <= time {
            timers.removeLast()
            let transfer = transfers[timer.index]
            guard transfer.state != .ended else { continue }
            if transfer.discretion.relaxesAt ?? .infinity <= time { loosen(timer.index, now) }
            guard transfer.limit.deadline <= time else { continue }
            totals.failed += 1
            end(timer.index, .failed, error: Discretion.TimeLimit.passed, now)
        }
        for index in paused where transfers[index].pause?.until ?? 0 <= time { endPause(index, time) }
        if let look = nextAdmission, look <= time { nextAdmission = nil }
    }

    private mutating func loosen(_ index: Int, _ now: ClockReading) {
        let limit = transfers[index].limit
        var words: String?
        changeDiscretion(index, now.bootSeconds) { words = $0.loosen(limit) }
        if let next = transfers[index].discretion.relaxesAt { setTimer(next, index) }
        guard let words else { return }
        var entry = entry(.conditionsLoosened, index, now)
        entry.detail = words
        entry.inputs = transfers[index].discretion.inputs
        entries.append(entry)
    }
}

extension TracedHost.Failing {
    /// The failure of a transfer at a failing host.
    fileprivate var failure: TransferFailure {
        switch self {
        case .unreachable: TransferFailure(.cannotConnect, "The host cannot be reached.")
        case .busy:
            TransferFailure(.serverUnavailable, "The server answered 503; the error may be temporary.", status: 503)
        case .missing: TransferFailure(.httpStatus, "The server answered 404.", status: 404)
        case .lost: TransferFailure(.connectionLost, "The connection was lost.")
        }
    }

    /// The stage at which the transfer fails.
    fileprivate var stage: FailurePoint.Stage {
        switch self {
        case .unreachable: .address
        case .busy, .missing, .lost: .server
        }
    }

    fileprivate var retryAfter: RetryAfter? {
        if case .busy(let seconds?) = self { .seconds(seconds) } else { nil }
    }
}
