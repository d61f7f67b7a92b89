import NightshiftAPI
import Scheduler
import Store
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
        transfers[index].begin(now)
        guard failing[lane.host] == nil else { return refused.append(index) }
        _ = hosts.answered(lane.way, began: now.bootSeconds)
        running.append(index)
        var accepted = transfers[index].accept(now)
        for place in accepted.indices { accepted[place].inputs = needs(of: transfers[index]).inputs(moment) }
        entries += accepted
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
    mutating func interrupt(_ index: Int, _ interruption: Interruption, _ now: ClockReading) {
        running.removeAll { $0 == index }
        var held = transfers[index].stop(.interrupt(interruption.reason, detail: interruption.detail), now)
        for place in held.indices { held[place].inputs = interruption.inputs }
        entries += held
        wait(index, now.bootSeconds)
        if let place = classIndex(of: transfers[index]) {
            setReason(interruption.reason, lane: transfers[index].lane, place: place, now.bootSeconds)
        }
        totals.interruptions += 1
    }

    /// Fails an attempt with the failure that the trace specifies for the host.
    mutating func fail(_ index: Int, _ trouble: TracedHost.Failing, began: Double, _ now: ClockReading) {
        let record = transfers[index].record
        let lane = lanes[transfers[index].lane]
        let failure = trouble.failure
        guard !failure.isPermanent else {
            _ = hosts.answered(lane.way, began: began)
            totals.failed += 1
            return end(index, .fail(failure, file: nil, resumeData: nil), now)
        }
        let point = FailurePoint(origin: lane.host, stage: trouble.stage)
        let attribution = FailureAttribution.of(
            failure, at: point, own: lane.host, asked: lane.host, hasOwnTLS: false, retryAfter: trouble.retryAfter
        ).ofAttempt(hasAdvanced: record.hasAdvanced)
        let attempt = FailurePause.Attempt(
            failure: failure, attribution: attribution, task: record.id, way: lane.way, began: began,
            failures: record.failures, retryAfter: trouble.retryAfter)
        let found = FailurePause.after(attempt, in: &hosts, now: now) { Self.jitter }
        running.removeAll { $0 == index }
        entries += transfers[index].stop(
            .hold(Hold(reason: found.reason, failure: failure, notBefore: found.notBefore)), now)
        pause(index, now.bootSeconds)
    }

    /// The fixed value that replaces the random part of pauses after failures: the mean of that part.
    static let jitter = 0.5

    mutating func end(_ index: Int, _ event: TaskEvent, _ now: ClockReading) {
        leaveWaiting(index, now.bootSeconds)
        leavePaused(index, now.bootSeconds)
        running.removeAll { $0 == index }
        entries += transfers[index].stop(event, now)
        ended.append(transfers[index])
    }

    // MARK: - Events of apps and hosts

    /// Cancels the transfers of an app that the user has force-quit.
    mutating func cancel(_ app: AppID, _ now: ClockReading) {
        for index in transfers.indices where isOpen(index, of: app) {
            totals.cancelled += 1
            end(index, .cancel(resumeData: nil, failure: nil), now)
        }
    }

    /// Clears the background conditions of an app's transfers, because the app is in the foreground.
    mutating func liftConditions(of app: AppID, _ now: ClockReading) {
        var lifted = 0
        for index in transfers.indices where isOpen(index, of: app) {
            let record = transfers[index].record
            if record.notBefore != nil, record.wait?.reason == .relaunchDelay { endPause(index, now.bootSeconds) }
            guard record.isDiscretionForced else { continue }
            lifted += 1
            changeRules(index, now.bootSeconds) { $0.record.liftDiscretion() }
        }
        guard lifted > 0 else { return }
        entries.append(.conditionsLifted(of: app, tasks: lifted, at: now.date))
    }

    private func isOpen(_ index: Int, of app: AppID) -> Bool {
        transfers[index].record.app == app && !transfers[index].record.state.isTerminal
    }

    /// Records whether a host fails from now on.
    mutating func change(_ host: TracedHost, _ now: ClockReading) {
        // A lost connection ends only the transfers that are running now.
        failing[host.name] = host.failing == .lost ? nil : host.failing
        guard host.failing == .lost else { return }
        for index in running where lanes[transfers[index].lane].host == host.name {
            guard let since = transfers[index].startedAt else { continue }
            fail(index, .lost, began: since, now)
        }
    }

    /// Changes the requirements of a transfer, which may move it to another class.
    private mutating func changeRules(_ index: Int, _ now: Double, _ change: (inout SimulatedTransfer) -> Void) {
        let waits = transfers[index].isWaiting
        if waits { leaveWaiting(index, now) }
        change(&transfers[index])
        if waits { wait(index, now) }
    }

    // MARK: - Time

    /// Returns the time in boot seconds of the next call to ``tick(_:)``.
    func nextDeadline(_ now: Double) -> Double? {
        let share = bytesPerSecond / Double(max(1, running.count))
        let done = running.map { transfers[$0].missing }.min().map { missing in
            // The time is rounded up, so that the transfer is complete at that time.
            ((now + missing / share) * 1_000).rounded(.up) / 1_000
        }
        return [done, timers.last?.time, paused.compactMap { transfers[$0].record.notBefore }.min(), nextAdmission]
            .compactMap(\.self).min()
    }

    /// Transfers bytes for a number of seconds, and returns their number.
    mutating func move(_ seconds: Double) -> Double {
        guard !running.isEmpty else { return 0 }
        let share = bytesPerSecond / Double(running.count) * seconds
        var moved = 0.0
        for index in running {
            let bytes = min(share, transfers[index].missing)
            transfers[index].receive(bytes)
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
            // A trace has no disk, so the file needs no time after its last byte.
            _ = transfers[index].apply(.finish(nil), now)
            end(index, .complete(file: nil, verified: []), now)
        }
        while let timer = timers.last, timer.time <= time {
            timers.removeLast()
            let record = transfers[timer.index].record
            guard !record.state.isTerminal else { continue }
            if record.relaxesAt ?? .infinity <= time { loosen(timer.index, now) }
            guard record.deadline ?? .infinity <= time else { continue }
            totals.failed += 1
            end(timer.index, .fail(Discretion.TimeLimit.passed, file: nil, resumeData: nil), now)
        }
        for index in paused where transfers[index].record.notBefore ?? 0 <= time { endPause(index, time) }
        if let look = nextAdmission, look <= time { nextAdmission = nil }
    }

    private mutating func loosen(_ index: Int, _ now: ClockReading) {
        var loosened: [JournalEntry] = []
        changeRules(index, now.bootSeconds) { loosened = $0.apply(.loosen, now) }
        entries += loosened
        if let next = transfers[index].record.relaxesAt { setTimer(next, index) }
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
