import Apps
import Foundation
import NightshiftAPI
import Refresh
import Runtime
import Scheduler
import Store

/// Background refresh. The refresh state of the service receives the events, and this code executes its decisions.
extension World {
    /// The local time, which is UTC in a trace.
    var localNow: LocalMoment { LocalMoment(seconds: now.wallSeconds) }

    /// The boot time in seconds of the refresh state's next decision, if no event happens before.
    var nextRefreshLook: Double? {
        // The time is rounded up to a millisecond, so that the deadline has been reached by then.
        refresh.book.nextDeadline.map { (($0 - settings.start) * 1_000).rounded(.up) / 1_000 }
    }

    mutating func beginRefresh() {
        refresh.book.apply(moment, now: localNow)
        refresh.isToLook = true
        _ = followRefresh()
    }

    // MARK: - Events

    /// Notifies the features of the changes in a step of an app's state machine, like `AppService`.
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
            // A trace can only contain valid settings, so a change is refused only if there are too many apps. In this
            // case, the journal shows no change.
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
            // The app receives the error that too many tasks wait, or that refresh is switched off.
        }
        refresh.isToLook = true
    }

    /// Ends a wake of an app. The feature that uses the result of the wake reads it next.
    mutating func finishRefreshWake(_ wake: WantedWake, _ outcome: WakeOutcome, _ index: Int) {
        guard apps[index].refreshWakes.contains(wake) else { return }
        apps[index].refreshWakes.removeAll { $0 == wake }
        let moved = wake.source == .fetch && outcome.result.map { $0 != .failed } ?? false
        refresh.add(
            wake, outcome.end(at: now.wallSeconds), bytes: moved ? apps[index].behaviour.fetchBytes : 0)
    }

    /// Ends the work for which the app was woken. The app's expiration handler ends it, so the work counts as not
    /// completed.
    mutating func endWake(_ expiration: ProcessCommand, _ index: Int) {
        guard let source = expiration.source,
            let command = apps[index].process?.withdrawWake(source, through: expiration.through)
        else { return }
        perform(index) { $0.acknowledged(command.number, result: .failed, now: $1) }
    }

    // MARK: - Decisions

    /// Sends new events to the refresh state, lets it decide, and executes the decisions.
    ///
    /// - Returns: whether a decision was executed to which other features may respond.
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
            refresh.book.decide(at: localNow)
            hasActed = carryOut() || hasActed
        }
    }

    private mutating func carryOut() -> Bool {
        let (begun, effects) = (refresh.book.outbox.rows.compactMap(\.wake), refresh.book.takeEffects())
        for entry in refresh.book.journal.rows { record(entry) }
        refresh.book.countAsWritten()
        for wake in begun {
            refresh.count(wake)
            let index = index(of: wake.app)
            // A new row replaces the row with the same key.
            apps[index].refreshWakes.removeAll { $0.source == wake.source && $0.key == wake.key }
            apps[index].refreshWakes.append(refresh.row(wake, now))
        }
        for wake in begun {
            let index = index(of: wake.app)
            perform(index) { [wanted = apps[index].wanted] in $0.setWantedWakes(wanted, now: $1) }
        }
        for case .expire(let app, let source, let key) in effects {
            perform(index(of: app)) { $0.expireWake(source, key: key, now: $1) ?? [] }
        }
        return !begun.isEmpty || !effects.isEmpty
    }
}
