import Foundation
package import NightshiftAPI
import Store

/// Background runs, and the background time that an app has in each.
extension AppMachine {
    /// Returns the seconds of background time that are left; nil if there is no limit.
    package func remaining(_ now: ClockReading) -> Double? {
        guard let open = record.background.openRun, let left = open.left else { return nil }
        return max(0, left - (open.countsFrom.map { now.awakeSeconds - $0 } ?? 0))
    }

    /// The background time in the form in which the process reads it from its clock file.
    package var clock: BackgroundClock {
        guard let open = record.background.openRun, let left = open.left else {
            return .unlimited
        }
        guard let from = open.countsFrom else { return .standing(Int64(saturating: (left * 1e9).rounded())) }
        return .counting(until: Int64(saturating: ((from + left) * 1e9).rounded()))
    }

    /// Returns the status of the background time for the API.
    package func background(now: ClockReading) -> BackgroundStatus {
        var status = BackgroundStatus(policy: terms.policy, policySource: terms.source)
        status.remaining = remaining(now)
        status.standsStill = phase == .standing
        status.tasks = record.background.tasks.map {
            BackgroundTaskStatus(name: $0.name, since: Date(timeIntervalSince1970: $0.since))
        }
        status.stints = record.background.stints
        if let open = record.background.openRun { status.stints.append(open.settled(now)) }
        return status
    }

    /// The app's row in the device's list of apps that hold it awake; nil if the app does not hold it awake.
    package var holder: AwakeHolder? {
        guard let since = record.background.openRun?.heldSince else { return nil }
        var names: [String] = []
        for name in record.background.tasks.map(\.name) where !names.contains(name) {
            guard names.count < BackgroundRun.mostNames else { break }
            names.append(name)
        }
        return AwakeHolder(app: record.id, tasks: names, since: Date(timeIntervalSince1970: since))
    }

    /// The number of wakes that have begun and are not completed; 1 if instead a launch in the background is in
    /// progress.
    ///
    /// Wakes without a limit are not counted, because the device cannot wait for them to end.
    var wakesUnderWay: Int {
        let count = begun.count { wake in
            let rules = wake.wake.source.rules
            return rules.limit != .unlimited && (wake.deadline != nil || !rules.reachesForeground)
        }
        return phase == .starting && record.state == .background ? max(1, count) : count
    }

    /// Whether the app has background tasks that run or wait for a maintenance window.
    var isWorking: Bool { hasTasks && isManaged && record.state == .background }

    /// The time at which the background time is over, in awake seconds; nil while it is paused or has no limit.
    private var end: Double? {
        guard let open = record.background.openRun, let left = open.left else { return nil }
        return open.countsFrom.map { $0 + left }
    }

    /// The time of the next expiration step, in awake seconds. The step is the warning, or the end of the background
    /// time.
    var nextExpiration: Double? {
        guard phase == .present, ending == nil, let open = record.background.openRun, let end else {
            return nil
        }
        if open.isExpiring {
            return hasTasks || commands.contains { $0.command.action == .expire } ? end : nil
        }
        return hasTasks ? end - terms.effectiveLead : nil
    }

    var hasTasks: Bool { !record.background.tasks.isEmpty }

    /// Starts a background run. From now on the app runs in the background.
    ///
    /// - Parameter left: the seconds of background time; nil for the full time of the policy.
    mutating func beginBackgroundRun(left: Double? = nil, _ now: ClockReading) -> [AppAction] {
        guard record.background.openRun == nil, record.process != nil else { return [] }
        let seconds = isManaged && !isUnlimited ? left ?? terms.policy.seconds : nil
        var open = OpenBackgroundRun(
            run: BackgroundRun(began: now.date), countsFrom: now.awakeSeconds, left: seconds)
        open.run.windows = device == .window ? 1 : 0
        open.run.add(begun.map(\.wake.reason))
        for task in record.background.tasks { open.run.add(task.name) }
        record.background.openRun = open
        hasToldLocks = false
        noteHold(now)
        var inputs = ["policy": terms.policy.description, "source": terms.source.rawValue]
        if let seconds { inputs["seconds"] = Self.text(seconds) }
        return [.note(.stintBegan, nil, inputs: inputs)]
    }

    mutating func endBackgroundRun(_ end: BackgroundRun.End, _ now: ClockReading) -> [AppAction] {
        guard let open = record.background.openRun else { return [] }
        var backgroundRun = open.settled(now)
        backgroundRun.ended = now.date
        backgroundRun.end = end
        record.background.openRun = nil
        record.background.stints.append(backgroundRun)
        record.background.stints.removeFirst(max(0, record.background.stints.count - Limits.backgroundRuns))
        var inputs = [
            "policy": terms.policy.description, "seconds": Self.text(backgroundRun.seconds),
            "windows": "\(backgroundRun.windows)",
            "end": end.rawValue,
        ]
        if !backgroundRun.tasks.isEmpty { inputs["tasks"] = backgroundRun.tasks.joined(separator: ", ") }
        if !backgroundRun.wakes.isEmpty {
            inputs["wakes"] = backgroundRun.wakes.map(\.rawValue).joined(separator: ", ")
        }
        if backgroundRun.heldAwake { inputs["heldAwake"] = "yes" }
        return [.note(.stintEnded, end.sentence, inputs: inputs)]
    }

    /// Gives the app its full background time again, because a wake begins.
    mutating func refill(for wakes: [WantedWake], _ now: ClockReading) {
        guard var open = record.background.openRun else { return }
        open.run.add(wakes.map(\.reason))
        if open.left != nil {
            open.run = open.settled(now)
            open.countsFrom = open.countsFrom.map { _ in now.awakeSeconds }
            open.left = terms.policy.seconds
            open.isExpiring = false
            commands.removeAll { $0.command.action == .expire }
        }
        record.background.openRun = open
        limitBackgroundRun(now)
    }

    /// Removes the limit of the background time while a continued task is under way. After the task ends, the app has
    /// its full time again.
    mutating func limitBackgroundRun(_ now: ClockReading) {
        guard isManaged, var open = record.background.openRun, (open.left == nil) != isUnlimited else { return }
        open.run = open.settled(now)
        open.countsFrom = open.countsFrom.map { _ in now.awakeSeconds }
        open.left = isUnlimited ? nil : terms.policy.seconds
        open.isExpiring = false
        record.background.openRun = open
        commands.removeAll { $0.command.action == .expire }
    }

    /// Pauses or continues the countdown of the background time.
    mutating func setCounting(_ counts: Bool, _ now: ClockReading) {
        guard var open = record.background.openRun else { return }
        let left = remaining(now)
        open.run = open.settled(now)
        open.left = left
        open.countsFrom = counts ? now.awakeSeconds : nil
        record.background.openRun = open
    }

    /// Continues the background run from the previous run of the service.
    mutating func recoverBackgroundRun(_ now: ClockReading) -> [AppAction] {
        // The task of a command is the command itself. Its supervising process may be gone, so nobody reports the task
        // again.
        if !isCommand { unconfirmed = Set(record.background.tasks.map(\.key)) }
        if !unconfirmed.isEmpty { confirmBy = now.awakeSeconds + Self.connectLimit }
        guard record.state == .background else { return [] }
        guard let open = record.background.openRun else { return beginBackgroundRun(now) }
        // A process that doze had frozen has been running since the service ended. Its background time counts from now.
        if open.countsFrom == nil { setCounting(true, now) }
        return []
    }

    /// Records when the app began to hold the device awake, or that it no longer does.
    mutating func noteHold(_ now: ClockReading) {
        guard record.background.openRun != nil else { return }
        guard hasTasks, terms.policy.kind == .contiguous else {
            record.background.openRun?.heldSince = nil
            return
        }
        record.background.openRun?.run.heldAwake = true
        if record.background.openRun?.heldSince == nil {
            record.background.openRun?.heldSince = now.wallSeconds
        }
    }

    /// Returns seconds as text for display. Whole seconds have no fraction; others are rounded to a thousandth.
    static func text(_ seconds: Double) -> String {
        let rounded = (seconds * 1_000).rounded() / 1_000
        return rounded == rounded.rounded() ? String(Int64(saturating: rounded)) : String(rounded)
    }
}

extension OpenBackgroundRun {
    /// Returns the background run as it would be if it ended now.
    fileprivate func settled(_ now: ClockReading) -> BackgroundRun {
        var settled = run
        if let countsFrom { settled.seconds += max(0, now.awakeSeconds - countsFrom) }
        return settled
    }
}

extension BackgroundRun {
    mutating func add(_ name: String) {
        guard tasks.count < Self.mostNames, !tasks.contains(name) else { return }
        tasks.append(name)
    }

    mutating func add(_ reasons: [WakeReason]) {
        for reason in reasons where !wakes.contains(reason) { wakes.append(reason) }
    }
}
