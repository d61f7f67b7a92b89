import Foundation
package import NightshiftAPI
package import Scheduler
import Store

/// The status for people: the next fetch, the reasons for and against it, and the learned use.
extension RefreshState {
    package func status(_ now: LocalMoment) -> RefreshStatus {
        let budget = planner.budget
        var filled = budget
        filled.fill(to: now.seconds)
        var status = RefreshStatus(
            isOn: isOn,
            budget: RefreshBudgetStatus(
                dailyEnergy: budget.daily.energy, dailyBytes: budget.daily.bytes,
                energyLeft: filled.balance.energy, bytesLeft: filled.balance.bytes),
            apps: manifests.keys.filter(takesPart).sorted { $0.rawValue < $1.rawValue }
                .compactMap { self.status(of: $0, now) })
        status.sentence = conditions.hold?.sentence
        status.nextLook = nextDeadline.map(Date.init(timeIntervalSince1970:))
        return status
    }

    /// Returns whether an app declares background refresh, or has learned use.
    private func takesPart(_ app: AppID) -> Bool {
        guard let manifest = manifests[app] else { return false }
        return manifest.modes.contains(.fetch) || manifest.modes.contains(.processing) || usesTasks(app)
            || apps[app] != nil
    }

    /// Returns the status of an app; nil if there is no such app.
    package func status(of app: AppID, _ now: LocalMoment) -> AppRefreshStatus? {
        guard let manifest = manifests[app] else { return nil }
        let (interval, source, isSet) = interval(of: app)
        var status = AppRefreshStatus(
            app: app, name: manifest.name, availability: availability(of: app), interval: interval)
        status.intervalSource = source
        status.isIntervalSet = isSet
        if let planned = planner.apps[app] {
            status.isOn = planned.isOn
            status.dailyCap = planned.dailyCap
            status.lastUse = planned.lastUse(now).map(Date.init(timeIntervalSince1970:))
        }
        status.fetches = apps[app]?.fetches ?? []
        status.scheduled = tasks.values.filter { $0.app == app }
            .sorted {
                ($0.submitted, $0.task.identifier, $0.began == nil ? 1 : 0)
                    < ($1.submitted, $1.task.identifier, $1.began == nil ? 1 : 0)
            }
            .map { self.status(of: $0, now) }
        status.openings = planner.openings(of: app, now: now)
        describe(&status, manifest, now)
        return status
    }

    /// Adds the description to a status: the reason why the app is not fetched, with its sentence and times, and the
    /// reasons for and against a fetch.
    private func describe(_ status: inout AppRefreshStatus, _ manifest: AppManifest, _ now: LocalMoment) {
        let app = manifest.id
        let held = plan.holds[app]
        let reason: RefreshHold? =
            apps[app]?.underWay != nil ? .underWay : planner.apps[app] == nil ? .never : held?.reason
        status.hold = reason?.rawValue
        status.sentence = reason.map { sentence($0, manifest, now) } ?? "The app's fetch is about to begin."
        if reason == held?.reason, reason != .underWay {
            status.expected = held?.until.map(Date.init(timeIntervalSince1970:))
            status.windowOpens = (held?.window?.lowerBound).map(Date.init(timeIntervalSince1970:))
            status.windowCloses = (held?.window?.upperBound).map(Date.init(timeIntervalSince1970:))
        }
        if reason == .never, usesTasks(app), let begin = refreshRequest(of: app)?.task.earliestBegin {
            status.expected = begin
        }
        guard let planned = planner.apps[app] else { return }
        status.inFavour = inFavour(app, planned, now)
        status.against = against(app, planned, reason, now)
    }

    private func sentence(_ hold: RefreshHold, _ manifest: AppManifest, _ now: LocalMoment) -> String {
        if hold == .cap, planner.apps[manifest.id]?.dailyCap == 0 {
            return "You have set the app's daily cap to 0, so it never fetches."
        }
        guard hold == .never else { return hold.sentence }
        if !manifest.modes.contains(.fetch) {
            return
                "The app does not declare the background mode 'fetch'. Add 'fetch' to X-Nightshift-BackgroundModes in "
                + "\(manifest.entry)."
        }
        let said = interval(of: manifest.id)
        if said.source == .user, said.interval == .never { return "You have set the app's interval to never." }
        guard usesTasks(manifest.id) else {
            return said.isSet ? "The app has set its interval to never." : hold.sentence
        }
        return refreshRequest(of: manifest.id) == nil
            ? "The app is launched for tasks that it submits, and has no refresh task waiting."
            : "The earliest begin date of the app's refresh task is in the future."
    }

    private func inFavour(_ app: AppID, _ planned: RefreshApp, _ now: LocalMoment) -> [String] {
        var sentences: [String] = []
        let soon = planner.openingsSoon(of: app, now: now)
        if soon >= 0.05 {
            let isKnown = planned.usage.lastUse(now.seconds) != nil
            let source = isKnown ? "from your habits" : "the default for an app without recorded use"
            sentences.append("Predicted openings in the next hour: \(Self.number(soon)) (\(source)).")
        }
        let ended = (apps[app]?.fetches ?? []).compactMap(\.result)
        let fruitful = ended.count { $0 == .newData }
        if fruitful > 0 { sentences.append("\(fruitful) of the app's last \(ended.count) fetches brought new data.") }
        if !planned.isFresh(now) { sentences.append("The app was neither fetched for nor used within the last hour.") }
        if conditions.isAwake { sentences.append("The device is awake anyway.") }
        if planner.budget.pays(for: planned) { sentences.append("The budget is sufficient.") }
        return sentences
    }

    private func against(
        _ app: AppID, _ planned: RefreshApp, _ reason: RefreshHold?, _ now: LocalMoment
    ) -> [String] {
        var holds: [RefreshHold] = []
        if let reason, reason != .never { holds.append(reason) }
        if !planned.isOn { holds.append(.appSwitchedOff) }
        if planned.isForceQuit { holds.append(.forceQuit) }
        if let hold = conditions.hold { holds.append(hold) }
        if planned.isFresh(now) { holds.append(.fresh) }
        var sentences: [String] = []
        if reason == .never, let manifest = manifests[app] { sentences.append(sentence(.never, manifest, now)) }
        for hold in holds {
            let sentence = manifests[app].map { self.sentence(hold, $0, now) } ?? hold.sentence
            if !sentences.contains(sentence) { sentences.append(sentence) }
        }
        let ended = (apps[app]?.fetches ?? []).compactMap(\.result)
        let fruitless = ended.count { $0 == .noData }
        if fruitless > 0 {
            sentences.append(Self.share(fruitless, of: ended.count, "brought no new data"))
        }
        let failed = ended.count { $0 == .failed }
        if failed > 0 { sentences.append(Self.share(failed, of: ended.count, "failed")) }
        if !conditions.isAwake { sentences.append("The device would have to be woken for a fetch.") }
        return sentences
    }

    /// Returns a sentence about some of the last fetches, such as "2 of the app's last 5 fetches failed."
    private static func share(_ count: Int, of total: Int, _ what: String) -> String {
        total == 1 ? "The app's last fetch \(what)." : "\(count) of the app's last \(total) fetches \(what)."
    }

    private func status(of task: StoredScheduledTask, _ now: LocalMoment) -> ScheduledTaskStatus {
        var status = ScheduledTaskStatus(
            task: task.task, submitted: Date(timeIntervalSince1970: task.submitted))
        status.began = task.began.map(Date.init(timeIntervalSince1970:))
        status.progress = progress(of: task)
        guard task.began == nil else { return status }
        switch task.task.kind {
        case .processing:
            let held = processing.holds[task.key.processing]
            status.sentence = held?.hold.sentence
            status.until = held?.until.map(Date.init(timeIntervalSince1970:))
        case .refresh:
            let held = plan.holds[task.app]
            if let manifest = manifests[task.app], let held { status.sentence = sentence(held.reason, manifest, now) }
            status.until =
                held?.reason == .never
                ? task.task.earliestBegin : held?.until.map(Date.init(timeIntervalSince1970:))
        case .continued: status.sentence = "It waits for the end of other continued tasks."
        }
        return status
    }

    /// Returns a number with one decimal digit.
    private static func number(_ value: Double) -> String {
        let tenths = Int(saturating: (value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
