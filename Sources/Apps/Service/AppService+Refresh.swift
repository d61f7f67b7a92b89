import Clock
package import NightshiftAPI
import Store

/// Background refresh: what it hears of apps, and what it asks of them.
extension AppService {
    /// Fires an app's expiration handler for one wake: it is not to go on. Returns when the app has been told.
    ///
    /// What the app was not told of yet is given up.
    package func expire(_ id: AppID, _ source: WakeSource, key: String) async throws(Problem) {
        try requireApp(id)
        guard !isStopping else { throw .unavailable("The service is stopping.") }
        // The row may have been written just before.
        await readWantedWakesAnew()
        var isFound = false
        await perform(id) { machine, now in
            guard let actions = machine.expireWake(source, key: key, now: now) else { return [] }
            isFound = true
            return actions
        }
        guard !isFound else { return }
        throw .conflict("Nothing of the kind is under way: \(key.isEmpty ? source.rawValue : key) of \(id).")
    }

    /// Tells an app's processes whether it is refreshed in the background.
    package func tell(_ id: AppID, _ availability: RefreshAvailability) {
        tellings[id] = Telling(number: (tellings[id]?.number ?? 0) + 1, availability: availability)
        for connection in connections.values where connection.app == id && !connection.isRunner {
            connection.continuation.yield(.refresh(RefreshNotice(availability: availability)))
        }
    }

    /// The last word of background refresh on an app: what was asked may be older by the time that the answer is there.
    struct Telling {
        var number: Int
        var availability: RefreshAvailability
    }

    /// Whether an app is refreshed in the background, for a process that connects.
    func availability(of id: AppID) async -> RefreshAvailability {
        let before = tellings[id]?.number
        let answer = await environment.refresh.availability(id)
        guard let last = tellings[id], last.number != before else { return answer }
        return last.availability
    }

    /// Tells background refresh what a step of an app's machine has changed.
    func tellRefresh(_ id: AppID, from old: AppRecord, to new: AppRecord, isInstalled: Bool) {
        let refresh = environment.refresh
        let hasLeft = old.isInFront && !new.isInFront
        guard !id.isProgram, isInstalled || hasLeft else { return }
        if new.isForceQuit, !old.isForceQuit { refreshCalls.add { await refresh.forceQuit(id) } }
        let isNew = new.isInFront && new.process != old.process
        if isNew || old.isForceQuit && !new.isForceQuit { refreshCalls.add { await refresh.launched(id) } }
        if old.isInFront != new.isInFront { refreshCalls.add { await refresh.use(id, !hasLeft) } }
    }

    /// Tells background refresh of an app that the last service has left: what that service told may not have come through.
    func tellRefresh(ofAdopted id: AppID) {
        guard let machine = machines[id], machine.isInstalled, !id.isProgram else { return }
        let (record, refresh) = (machine.record, environment.refresh)
        if record.isForceQuit { refreshCalls.add { await refresh.forceQuit(id) } }
        if record.isInFront { refreshCalls.add { await refresh.use(id, true) } }
    }
}

extension AppRecord {
    /// Whether its user sees it.
    fileprivate var isInFront: Bool { process != nil && (state == .active || state == .inactive) }
}
