import Foundation
package import NightshiftAPI
import Store

/// Background runs, and the background time that an app has in each.
extension AppMachine {
    /// Returns the seconds of background time that are left; nil if there is no limit.
    package func remaining(_ now: ClockReading) -> Double? {
        guard let backgroundRun = record.background.backgroundRun, let left = backgroundRun.left else { return nil }
        return max(0, left - (backgroundRun.countsFrom.map { now.awakeSeconds - $0 } ?? 0))
    }

    /// The background time in the form in which the process reads it from its clock file.
    package var clock: BackgroundClock {
        guard let backgroundRun = record.background.backgroundRun, let left = backgroundRun.left else {
            return .unlimited
        }
        guard let from = backgroundRun.countsFrom else { return .standing(Int64(saturating: (left * 1e9).rounded())) }
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
        if let open = record.background.backgroundRun { status.stints.append(open.settled(now)) }
        return status
    }

    /// The app's row in the device's list of apps that hold it awake; nil if the app does not hold it awake.
    package var holder: AwakeHolder? {
        guard let since = record.background.backgroundRun?.heldSince else { return nil }
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
        guard let backgroundRun = record.background.backgroundRun, let left = backgroundRun.left else { return nil }
        return backgroundRun.countsFrom.map { $0 + left }
    }

    /// The time of the next expiration step, in awake seconds. The step is the warning, or the end of the background
    /// time.
    var nextExpiration: Double? {
        guard phase == .present, ending == nil, let backgroundRun = record.background.backgroundRun, let end else {
            return nil
        }
        if backgroundRun.isExpiring {
            return hasTasks || commands.contains { $0.command.action == .expire } ? end : nil
        }
        return hasTasks ? end - terms.effectiveLead : nil
    }

    var hasTasks: Bool { !record.background.tasks.isEmpty }

    /// Starts a background run. From now on the app runs in the background.
    ///
    /// - Parameter left: the seconds of background time; nil for the full time of the policy.
    mutating func beginBackgroundRun(left: Double? = nil, _ now: ClockReading) -> [AppAction] {
        guard record.background.backgroundRun == nil, record.process != nil else { return [] }
        let seconds = isManaged && !isUnlimited ? left ?? terms.policy.seconds : nil
        var open = OpenBackgroundRun(
            backgroundRun: BackgroundRun(began: now.date), countsFrom: now.awakeSeconds, left: seconds)
        open.backgroundRun.windows = device == .window ? 1 : 0
        open.backgroundRun.add(begun.map(\.wake.reason))
        for task in record.background.tasks { open.backgroundRun.add(task.name) }
        record.background.backgroundRun = open
        hasToldLocks = false
        noteHold(now)
        var inputs = ["policy": terms.policy.description, "source": terms.source.rawValue]
        if let seconds { inputs["seconds"] = Self.text(seconds) }
        return [.note(.stintBegan, nil, inputs: inputs)]
    }

    mutating func endBackgroundRun(_ end: BackgroundRun.End, _ now: ClockReading) -> [AppAction] {
        guard let open = record.background.backgroundRun else { return [] }
        var backgroundRun = open.settled(now)
        backgroundRun.ended = now.date
        backgroundRun.end = end
        record.background.backgroundRun = nil
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
        guard var open = record.background.backgroundRun else { return }
        open.backgroundRun.add(wakes.map(\.reason))
        if open.left != nil {
            open.backgroundRun = open.settled(now)
            open.countsFrom = open.countsFrom.map { _ in now.awakeSeconds }
            open.left = terms.policy.seconds
            open.isExpiring = false
            commands.removeAll { $0.command.action == .expire }
        }
        record.background.backgroundRun = open
        limitBackgroundRun(now)
    }

    /// Removes the limit of the background time while a continued task is under way. After the task ends, the app has
    /// its full time again.
    mutating func limitBackgroundRun(_ now: ClockReading) {
        guard isManaged, var open = record.background.backgroundRun, (open.left == nil) != isUnlimited else { return }
        open.backgroundRun = open.settled(now)
        open.countsFrom = open.countsFrom.map { _ in now.awakeSeconds }
        open.left = isUnlimited ? nil : terms.policy.seconds
        open.isExpiring = false
        record.background.backgroundRun = open
        commands.removeAll { $0.command.action == .expire }
    }

    /// Pauses or continues the countdown of the background time.
    mutating func setCounting(_ counts: Bool, _ now: ClockReading) {
        guard var open = record.background.backgroundRun else { return }
        let left = remaining(now)
        open.backgroundRun = open.settled(now)
        open.left = left
        open.countsFrom = counts ? now.awakeSeconds : nil
        record.background.backgroundRun = open
    }

    /// Continues the background run from the previous run of the service.
    mutating func recoverBackgroundRun(_ now: ClockReading) -> [AppAction] {
        // The task of a command is the command itself. Its supervising process may be gone, so nobody reports the task
        // again.
        if !isCommand { unconfirmed = Set(record.background.tasks.map(\.key)) }
        if !unconfirmed.isEmpty { confirmBy = now.awakeSeconds + Self.connectLimit }
        guard record.state == .background else { return [] }
        guard let open = record.background.backgroundRun else { return beginBackgroundRun(now) }
        // A process that doze had frozen has been running since the service ended. Its background time counts from now.
        if open.countsFrom == nil { setCounting(true, now) }
        return []
    }

    /// Records when the app began to hold the device awake, or that it no longer does.
    mutating func noteHold(_ now: ClockReading) {
        guard record.background.backgroundRun != nil else { return }
        guard hasTasks, terms.policy.kind == .contiguous else {
            record.background.backgroundRun?.heldSince = nil
            return
        }
        record.background.backgroundRun?.backgroundRun.heldAwake = true
        if record.background.backgroundRun?.heldSince == nil {
            record.background.backgroundRun?.heldSince = now.wallSeconds
        }
    }

    /// Returns seconds as text for people. Whole seconds have no fraction; others are rounded to a thousandth.
    static func text(_ seconds: Double) -> String {
        let rounded = (seconds * 1_000).rounded() / 1_000
        return rounded == rounded.rounded() ? String(Int64(saturating: rounded)) : String(rounded)
    }
}

extension OpenBackgroundRun {
    /// Returns the background run as it would be if it ended now.
    fileprivate func settled(_ now: ClockReading) -> BackgroundRun {
        var backgroundRun = backgroundRun
        if let countsFrom { backgroundRun.seconds += max(0, now.awakeSeconds - countsFrom) }
        return backgroundRun
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
