import Foundation
package import NightshiftAPI
import Runtime
package import Scheduler
import Store

/// The handling of fetches, from the decision to the result.
extension RefreshState {
    // MARK: - Intervals

    /// Returns the effective interval of an app and its source. If no interval is set, the interval is `never`, and
    /// `isSet` is false.
    package func interval(
        of app: AppID
    ) -> (interval: RefreshInterval, source: AppRefreshStatus.IntervalSource, isSet: Bool) {
        if let interval = apps[app]?.userInterval { return (interval, .user, true) }
        if let interval = apps[app]?.appInterval { return (interval, .app, true) }
        if let interval = manifests[app]?.fetchInterval { return (interval, .entry, true) }
        return (.never, .app, false)
    }

    /// Returns whether the app is launched for tasks that it submits, and not for ordinary fetches.
    package func usesTasks(_ app: AppID) -> Bool { manifests[app]?.taskIdentifiers.isEmpty == false }

    /// Returns the interval for the planner. An app that submits tasks has an interval only while one of its requests
    /// is due.
    func plannedInterval(of app: AppID, _ now: LocalMoment) -> RefreshInterval {
        guard let manifest = manifests[app], manifest.modes.contains(.fetch) else { return .never }
        guard usesTasks(app) else { return interval(of: app).interval }
        guard let request = refreshRequest(of: app) else { return .never }
        guard request.task.earliestBegin.map({ $0.timeIntervalSince1970 <= now.seconds }) ?? true else { return .never }
        return apps[app]?.userInterval ?? .minimum
    }

    package func availability(of app: AppID) -> RefreshAvailability {
        let modes: Set<BackgroundMode> = [.fetch, .processing, .remoteNotification, .location]
        guard let manifest = manifests[app], !manifest.modes.isDisjoint(with: modes) else { return .restricted }
        return isOn && planner.apps[app]?.isOn ?? true ? .available : .denied
    }

    // MARK: - Requests of people and apps

    package mutating func set(_ interval: RefreshInterval, byAppOf app: AppID, now: LocalMoment) {
        guard apps[app]?.appInterval != interval else { return }
        know(app, now)
        apps[app]?.appInterval = interval
        touch(app)
        note(.refreshChanged, app, "The app has set its interval to \(interval).", now)
    }

    package mutating func change(_ change: RefreshChange, now: LocalMoment) throws(Problem) {
        for (value, pointer) in [(change.dailyEnergy, "/dailyEnergy"), (change.dailyBytes, "/dailyBytes")] {
            guard let value, !(0...Limits.dailyBudget).contains(value) else { continue }
            throw .invalid("A budget must be a number from 0 to 10^15.", pointer: pointer)
        }
        var words: [String] = []
        if let isOn = change.isOn, isOn != self.isOn {
            self.isOn = isOn
            words.append("Background refresh was switched \(isOn ? "on" : "off") for all apps.")
        }
        if change.dailyEnergy != nil || change.dailyBytes != nil {
            var daily = planner.budget.daily
            if let energy = change.dailyEnergy { daily.energy = energy }
            if let bytes = change.dailyBytes { daily.bytes = bytes }
            planner.set(daily: daily, now: now)
            words.append(
                "The budget is \(Int64(saturating: daily.energy)) J and \(Int64(saturating: daily.bytes)) bytes a day.")
        }
        guard !words.isEmpty else { return }
        touchDevice()
        note(.refreshChanged, nil, words.joined(separator: " "), now)
    }

    package mutating func change(_ app: AppID, _ change: AppRefreshChange, now: LocalMoment) throws(Problem) {
        try require(app)
        var interval: RefreshInterval?
        if let text = change.interval, text != "default" {
            interval = RefreshInterval(text)
            guard interval != nil else {
                throw .invalid(
                    "An interval must be 'never', 'minimum', seconds up to a year, or 'default'.", pointer: "/interval")
            }
        }
        if let cap = change.dailyCap, !(-1...Limits.dailyFetches).contains(cap) {
            throw .invalid("A cap must be 0 to 1000 fetches a day, or -1 for no cap.", pointer: "/dailyCap")
        }
        know(app, now)
        guard let before = planner.apps[app] else {
            throw .tooMany("Background refresh already has 500 apps, which is the limit.")
        }
        var words: [String] = []
        if let text = change.interval {
            apps[app]?.userInterval = interval
            words.append("Its interval is \(text).")
        }
        if change.isOn != nil || change.dailyCap != nil {
            let (on, cap) = (change.isOn ?? before.isOn, change.dailyCap.map { $0 < 0 ? nil : $0 } ?? before.dailyCap)
            planner.set(isOn: on, dailyCap: cap, for: app)
            if on != before.isOn { words.append(on ? "Switched on." : "Switched off.") }
            if cap != before.dailyCap {
                words.append(cap.map { "Its cap is \($0) fetches a day." } ?? "It has no cap.")
            }
        }
        guard !words.isEmpty else { return }
        touch(app)
        note(.refreshChanged, app, words.joined(separator: " "), now)
    }

    /// Deletes the recorded use of an app and the results of its fetches; if `app` is nil, of all apps and the device.
    package mutating func forget(_ app: AppID?, now: LocalMoment) throws(Problem) {
        if let app { try require(app) }
        planner.forget(app, now: now)
        for id in app.map({ [$0] }) ?? order {
            apps[id]?.fetches.removeAll { $0.ended != nil }
            touch(id)
        }
        touchDevice()
        outbox.append(.forgetUse(app))
        note(.learnedForgotten, app, nil, now)
    }

    /// Begins a fetch at the user's request.
    package mutating func fetchNow(_ app: AppID, now: LocalMoment) throws(Problem) {
        let manifest = try require(app)
        guard manifest.modes.contains(.fetch) else {
            throw .conflict(
                "\(app) does not declare the background mode 'fetch'. Add 'fetch' to X-Nightshift-BackgroundModes in "
                    + "\(manifest.entry).")
        }
        know(app, now)
        guard let known = planner.apps[app] else {
            throw .tooMany("Background refresh already has 500 apps, which is the limit.")
        }
        if known.isForceQuit { throw .conflict(RefreshHold.forceQuit.sentence) }
        if known.usage.isInUse { throw .conflict(RefreshHold.inFront.sentence) }
        if known.fetchBegan != nil { throw .conflict(RefreshHold.underWay.sentence) }
        if usesTasks(app), refreshRequest(of: app) == nil {
            throw .conflict(
                "\(app) has no refresh task waiting. Its entry declares X-Nightshift-TaskIdentifiers, so it is launched "
                    + "only for tasks that it submits.")
        }
        planner.beginNow(app, now: now)
        beginFetch(app, wakesDevice: !conditions.isAwake, now, detail: "You requested this fetch.")
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with background modes. 'nightshift app list' shows the apps.")
        }
        return manifest
    }

    // MARK: - Start and end of a fetch

    /// Begins a fetch that the planner has started.
    mutating func beginFetch(_ app: AppID, wakesDevice: Bool, _ now: LocalMoment, detail: String? = nil) {
        know(app, now)
        var record = FetchRecord(began: Date(timeIntervalSince1970: now.seconds))
        record.detail = detail
        var wake = RefreshWake(app: app, source: .fetch, key: "", timeout: Self.timeout)
        if usesTasks(app), let request = refreshRequest(of: app) {
            record.identifier = request.task.identifier
            wake.key = request.task.identifier
            wake.task = request.task
            begin(request.key, now)
        } else {
            note(.fetchBegan, app, detail, now)
        }
        var fetches = apps[app]?.fetches ?? []
        fetches.append(record)
        apps[app]?.fetches = Array(fetches.suffix(Limits.fetches))
        apps[app]?.wokeDevice = wakesDevice
        outbox.append(.begin(wake))
        touch(app)
        touchDevice()
    }

    /// Handles ends of wakes. Each end is handled only once.
    package mutating func take(_ ends: [RefreshEnd], now: LocalMoment) {
        for end in ends where end.row.id > endsThrough {
            endsThrough = end.row.id
            let (app, result) = (end.row.app, end.row.end.result)
            let key = StoredScheduledTask.Key(app: app, identifier: end.row.key, isRunning: true)
            switch end.row.source {
            case .fetch:
                // If the app has no fetch for this wake, it was removed in the meantime.
                guard let fetch = apps[app]?.underWay, fetch.identifier ?? "" == end.row.key else { continue }
                endFetch(app, result, end.row.end.detail, ended: end.row.end.time, bytes: end.bytes, now)
            default:
                guard tasks[key]?.task.kind.source == end.row.source else { continue }
                endTask(key, result, end.row.end.detail, now)
            }
        }
    }

    /// Ends the fetch under way of an app.
    ///
    /// - Parameter result: nil if the result is unknown.
    mutating func endFetch(
        _ app: AppID, _ result: RefreshResult?, _ detail: String?, ended: Double, bytes: Int64, _ now: LocalMoment
    ) {
        guard var record = apps[app]?.underWay else { return }
        let began = record.began.timeIntervalSince1970
        // The duration is limited, because the clock may have been set during the fetch.
        let seconds = max(0, min(RefreshApp.limit, ended - began))
        record.ended = Date(timeIntervalSince1970: max(began, ended))
        record.result = result
        record.bytes = bytes
        record.detail = [record.detail, detail].compactMap(\.self).joined(separator: " ")
        if record.detail?.isEmpty == true { record.detail = nil }
        apps[app]?.fetches.removeLast()
        apps[app]?.fetches.append(record)
        // The radio stays on for a while after traffic. Of several concurrent fetches, only the last is charged for
        // this.
        let isLast = !apps.contains { $0.key != app && $0.value.underWay != nil }
        let cost = RefreshCost(
            wakesDevice: apps[app]?.wokeDevice ?? false, radioSeconds: seconds + (isLast ? 10 : 0),
            backgroundSeconds: seconds, bytes: Double(bytes))
        planner.fetchEnded(app, result, took: cost, now: now)
        touch(app)
        touchDevice()
        if let identifier = record.identifier {
            endTask(StoredScheduledTask.Key(app: app, identifier: identifier, isRunning: true), result, detail, now)
        } else {
            var inputs = ["seconds": "\(Int64(saturating: seconds.rounded()))", "bytes": "\(bytes)"]
            inputs["result"] = result?.rawValue
            note(.fetchEnded, app, record.detail, now, inputs: inputs)
        }
    }
}
