import Apps
import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store

/// Background refresh: what happens goes to the service's book, and what it decides is carried out.
extension World {
    /// Local time is UTC in a trace.
    var localNow: LocalMoment { LocalMoment(seconds: now.wallSeconds) }

    /// Boot seconds at which the book decides again, if nothing happens before.
    var nextRefreshLook: Double? {
        // Upwards to a millisecond: at that moment it has come.
        refresh.book.nextLook.map { (($0 - settings.start) * 1_000).rounded(.up) / 1_000 }
    }

    mutating func beginRefresh() {
        refresh.book.apply(moment, now: localNow)
        refresh.isToLook = true
        _ = followRefresh()
    }

    // MARK: - What happens

    /// Tells what a step of an app's machine has changed, as `AppService` does.
    mutating func tellParts(_ id: AppID, from old: AppRecord, to new: AppRecord) {
        func isInFront(_ record: AppRecord) -> Bool {
            record.process != nil && (record.state == .active || record.state == .inactive)
        }
        let (was, stands) = (isInFront(old), isInFront(new))
        var calls: [AppCall] = []
        if new.isForceQuit, !old.isForceQuit { calls.append(.forceQuit(id)) }
        if stands && new.process != old.process || old.isForceQuit && !new.isForceQuit { calls.append(.launched(id)) }
        if was != stands { calls.append(.use(id, isInFront: stands)) }
        refresh.calls += calls
        location.calls += calls
    }

    mutating func change(_ change: TracedRefresh, _ app: AppID?) {
        do throws(Problem) {
            if let app {
                let new = AppRefreshChange(isOn: change.isOn, interval: change.interval, dailyCap: change.dailyCap)
                try refresh.book.change(app, new, now: localNow)
            } else {
                let new = RefreshChange(
                    isOn: change.isOn, dailyEnergy: change.dailyEnergy, dailyBytes: change.dailyBytes)
                try refresh.book.change(new, now: localNow)
            }
        } catch {
            // What a trace may say is what people may: only the number of apps is refused. The journal shows no change then.
        }
        refresh.isToLook = true
    }

    mutating func submit(_ submission: TracedSubmission, _ index: Int) {
        var task = ScheduledTask(identifier: submission.identifier, kind: submission.kind)
        task.earliestBegin = submission.after.map { now.date.addingTimeInterval($0) }
        task.requiresNetwork = submission.requiresNetwork
        task.requiresPower = submission.requiresPower
        let isInFront = apps[index].machine.record.state == .active
        do throws(Problem) {
            try refresh.book.submit(task, for: apps[index].id, isInFront: isInFront, now: localNow)
        } catch {
            // The app is told, as one that runs is: too many wait, or its user has switched refresh off.
        }
        refresh.isToLook = true
    }

    /// The wake of an app is over: whoever waits for what came of it reads that next.
    mutating func finishRefreshWake(_ wake: WantedWake, _ outcome: WakeOutcome, _ index: Int) {
        guard apps[index].refreshWakes.contains(wake) else { return }
        apps[index].refreshWakes.removeAll { $0 == wake }
        let moved = wake.source == .fetch && outcome.result.map { $0 != .failed } ?? false
        refresh.add(
            wake, outcome.end(at: now.wallSeconds), bytes: moved ? apps[index].behaviour.fetchBytes : 0)
    }

    /// Its expiration handler ends what the app was woken for, and says that it was not done.
    mutating func endWake(_ expiration: ProcessCommand, _ index: Int) {
        guard let source = expiration.source,
            let command = apps[index].process?.withdrawWake(source, through: expiration.through)
        else { return }
        perform(index) { $0.acknowledged(command.number, result: .failed, now: $1) }
    }

    // MARK: - What is decided

    /// Gives the book what it has not heard of, lets it decide, and carries that out.
    ///
    /// - Returns: whether anything was carried out that others may answer to.
    mutating func followRefresh() -> Bool {
        var hasActed = false
        while true {
            refresh.takeEnds(localNow)
            for call in refresh.calls {
                refresh.isToLook = true
                switch call {
                case .use(let app, let isInFront):
                    if isInFront { refresh.countOpening(app, localNow) }
                    refresh.book.use(app, isInFront: isInFront, now: localNow)
                case .forceQuit(let app): refresh.book.forceQuit(app, now: localNow)
                case .launched(let app): refresh.book.launched(app)
                }
            }
            refresh.calls = []
            guard refresh.isToLook else { return hasActed }
            refresh.isToLook = false
            refresh.book.look(localNow)
            hasActed = carryOut() || hasActed
        }
    }

    private mutating func carryOut() -> Bool {
        let (changes, effects) = (refresh.book.takeChanges(), refresh.book.takeEffects())
        for entry in changes.entries { record(entry) }
        for wake in changes.begun {
            refresh.count(wake)
            let index = index(of: wake.app)
            // A row takes the place of one with the same key.
            apps[index].refreshWakes.removeAll { $0.source == wake.source && $0.key == wake.key }
            apps[index].refreshWakes.append(refresh.row(wake, now))
        }
        for wake in changes.begun {
            let index = index(of: wake.app)
            perform(index) { [wanted = apps[index].wanted] in $0.setWantedWakes(wanted, now: $1) }
        }
        for case .expire(let app, let source, let key) in effects {
            perform(index(of: app)) { $0.expireWake(source, key: key, now: $1) ?? [] }
        }
        return !changes.begun.isEmpty || !effects.isEmpty
    }
}
