import Clock
package import NightshiftAPI
import Store

/// Communication with the other features of the service: reports about apps, notices for apps, and requests.
extension AppService {
    /// Sends an app the expiration of one wake that is called off. Returns when the command was sent.
    ///
    /// A wake that the app has not received is dropped.
    package func expire(_ id: AppID, _ source: WakeSource, key: String) async throws(Problem) {
        try requireApp(id)
        guard !isStopping else { throw .unavailable("The service is stopping.") }
        // The row of the wake may be so new that the machine has not read it yet.
        await readWantedWakes(of: id)
        var isFound = false
        await perform(id) { machine, now in
            guard let actions = machine.expireWake(source, key: key, now: now) else { return [] }
            isFound = true
            return actions
        }
        guard !isFound else { return }
        throw .conflict("\(id) has no wake '\(key.isEmpty ? source.rawValue : key)' that is waiting or under way.")
    }

    /// Sends the current notice of a feature to an app's processes: refresh, location or push.
    package func tell(_ id: AppID, _ notice: ProcessEvent) {
        guard let kind = notice.noticeKind else { return assertionFailure("\(notice) is not a notice.") }
        lastNoticeNumber += 1
        sentNotices[id, default: [:]][kind] = SentNotice(number: lastNoticeNumber, notice: notice)
        for connection in connections.values where connection.app == id && !connection.isRunner {
            connection.continuation.yield(notice)
        }
    }

    /// The last notice that a feature sent to an app. It may be newer than the feature's answer to a request for
    /// notices.
    struct SentNotice {
        var number: Int
        var notice: ProcessEvent
    }

    /// Returns the current notices for a process that connects.
    func notices(of id: AppID) async -> [ProcessEvent] {
        let before = sentNotices[id] ?? [:]
        var notices = await environment.parts.notices(id)
        let newer = (sentNotices[id] ?? [:]).filter { kind, last in last.number != before[kind]?.number }
        for (kind, last) in newer.sorted(by: { $0.value.number < $1.value.number }) {
            notices.removeAll { $0.noticeKind == kind }
            notices.append(last.notice)
        }
        return notices
    }

    /// Reports the current desktop entry of an app to the features, one manifest after the other. A nil manifest means
    /// that the entry was removed.
    ///
    /// Returns when the features have handled all manifests, so that callers can then ask the features about the app.
    /// While the service stops, this returns immediately.
    func tellParts(_ id: AppID, installed manifests: [AppManifest?]) async {
        guard !isStopping else { return }
        lastAcknowledgement += 1
        let hearing = lastAcknowledgement
        await withCheckedContinuation { continuation in
            pendingAcknowledgements[hearing] = continuation
            partCalls.add { [weak self, parts = environment.parts] in
                for manifest in manifests { await parts.installed(id, manifest) }
                await self?.heard(hearing)
            }
        }
    }

    private func heard(_ hearing: Int) { pendingAcknowledgements.removeValue(forKey: hearing)?.resume() }

    /// Reports to the features what changed for the app in a step of its machine.
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

    /// Reports the state of an adopted app to the features, because reports from the previous run may have been lost.
    func tellParts(ofAdopted id: AppID) {
        guard let machine = machines[id], machine.isInstalled, !id.isProgram else { return }
        let (record, parts) = (machine.record, environment.parts)
        if record.isForceQuit { partCalls.add { await parts.forceQuit(id) } }
        if record.isInFront { partCalls.add { await parts.use(id, true) } }
    }
}

extension ProcessEvent {
    /// The kinds of notices. Of each kind, only the last notice counts.
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
