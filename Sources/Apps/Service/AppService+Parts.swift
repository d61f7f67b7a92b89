import Clock
package import NightshiftAPI
import Store

/// The other parts of the service: what they hear of apps, what they tell them, and what they ask of them.
extension AppService {
    /// Fires an app's expiration handler for one wake: it is not to go on. Returns when the app has been told.
    ///
    /// What the app was not told of yet is given up.
    package func expire(_ id: AppID, _ source: WakeSource, key: String) async throws(Problem) {
        try requireApp(id)
        guard !isStopping else { throw .unavailable("The service is stopping.") }
        // The row may have been written just before.
        await readWantedWakes(of: id)
        var isFound = false
        await perform(id) { machine, now in
            guard let actions = machine.expireWake(source, key: key, now: now) else { return [] }
            isFound = true
            return actions
        }
        guard !isFound else { return }
        throw .conflict("Nothing of the kind is under way: \(key.isEmpty ? source.rawValue : key) of \(id).")
    }

    /// Tells an app's processes the last word of a part: a notice of refresh, location or push.
    package func tell(_ id: AppID, _ notice: ProcessEvent) {
        guard let kind = notice.noticeKind else { return assertionFailure("\(notice) is no notice.") }
        lastTelling += 1
        tellings[id, default: [:]][kind] = Telling(number: lastTelling, notice: notice)
        for connection in connections.values where connection.app == id && !connection.isRunner {
            connection.continuation.yield(notice)
        }
    }

    /// The last word of a part on an app: what was asked may be older by the time that the answer is there.
    struct Telling {
        var number: Int
        var notice: ProcessEvent
    }

    /// What a process of an app that connects has to know.
    func notices(of id: AppID) async -> [ProcessEvent] {
        let before = tellings[id] ?? [:]
        var notices = await environment.parts.notices(id)
        let newer = (tellings[id] ?? [:]).filter { kind, last in last.number != before[kind]?.number }
        for (kind, last) in newer.sorted(by: { $0.value.number < $1.value.number }) {
            notices.removeAll { $0.noticeKind == kind }
            notices.append(last.notice)
        }
        return notices
    }

    /// Tells the parts what an app's entry says now, one manifest after the other; nil where it was removed. Returns when they have
    /// heard it: who is answered then can ask them about it. A service that stops waits for nobody.
    func tellParts(_ id: AppID, installed manifests: [AppManifest?]) async {
        guard !isStopping else { return }
        lastHearing += 1
        let hearing = lastHearing
        await withCheckedContinuation { continuation in
            hearings[hearing] = continuation
            partCalls.add { [weak self, parts = environment.parts] in
                for manifest in manifests { await parts.installed(id, manifest) }
                await self?.heard(hearing)
            }
        }
    }

    private func heard(_ hearing: Int) { hearings.removeValue(forKey: hearing)?.resume() }

    /// Tells the parts what a step of an app's machine has changed.
    func tellParts(_ id: AppID, from before: AppMachine, to machine: AppMachine) {
        let (old, new, isInstalled) = (before.record, machine.record, machine.isInstalled)
        let parts = environment.parts
        if before.isFrozen != machine.isFrozen, !id.isProgram {
            let isSuspended = machine.isFrozen
            partCalls.add { await parts.suspended(id, isSuspended) }
        }
        let hasLeft = old.isInFront && !new.isInFront
        guard !id.isProgram, isInstalled || hasLeft else { return }
        if new.isForceQuit, !old.isForceQuit { partCalls.add { await parts.forceQuit(id) } }
        let isNew = new.isInFront && new.process != old.process
        if isNew || old.isForceQuit && !new.isForceQuit { partCalls.add { await parts.launched(id) } }
        if old.isInFront != new.isInFront { partCalls.add { await parts.use(id, !hasLeft) } }
    }

    /// Tells the parts of an app that the last service has left: what that service told may not have come through.
    func tellParts(ofAdopted id: AppID) {
        guard let machine = machines[id], machine.isInstalled, !id.isProgram else { return }
        let (record, parts) = (machine.record, environment.parts)
        if record.isForceQuit { partCalls.add { await parts.forceQuit(id) } }
        if record.isInFront { partCalls.add { await parts.use(id, true) } }
    }
}

extension ProcessEvent {
    /// The kinds of what parts tell processes: the last notice of each counts.
    enum NoticeKind: Hashable, Sendable {
        case refresh
        case location
        case push
    }

    var noticeKind: NoticeKind? {
        switch self {
        case .refresh: .refresh
        case .location: .location
        case .push: .push
        case .hello, .command, .stopping: nil
        }
    }
}
