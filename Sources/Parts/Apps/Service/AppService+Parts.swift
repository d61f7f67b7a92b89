import Clock
package import NightshiftAPI
import Runtime
import Store

/// Communication with the other parts of the service: events of apps, notices for apps, and requests.
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

    /// Sends the current notice of a part to an app's processes: refresh, location or push.
    package func tell(_ id: AppID, _ notice: ProcessEvent) {
        sentNotices.add(notice, for: id)
        for connection in connections.values where connection.app == id && !connection.isRunner {
            connection.continuation.yield(notice)
        }
    }

    /// Returns the current notices for a process that connects.
    func notices(of id: AppID) async -> [ProcessEvent] {
        let before = sentNotices[id]
        let answers = await events.notices(for: id)
        return sentNotices.updated(answers, for: id, since: before)
    }

    /// Publishes the changes of an app in a step of its machine.
    func publish(_ id: AppID, from before: AppMachine, to machine: AppMachine) {
        let (old, new, isInstalled) = (before.record, machine.record, machine.isInstalled)
        if before.isFrozen != machine.isFrozen, !id.isProgram { events.publish(.suspended(machine.isFrozen), of: id) }
        let hasLeft = old.isInFront && !new.isInFront
        guard !id.isProgram, isInstalled || hasLeft else { return }
        if new.isForceQuit, !old.isForceQuit { events.publish(.forceQuit, of: id) }
        let isNew = new.isInFront && new.process != old.process
        if isNew || old.isForceQuit && !new.isForceQuit { events.publish(.launched, of: id) }
        if old.isInFront != new.isInFront { events.publish(.use(isInFront: !hasLeft), of: id) }
    }

    /// Publishes the state of an adopted app, because events of the previous run may have been lost.
    func publishState(ofAdopted id: AppID) {
        guard let machine = machines[id], machine.isInstalled, !id.isProgram else { return }
        if machine.record.isForceQuit { events.publish(.forceQuit, of: id) }
        if machine.record.isInFront { events.publish(.use(isInFront: true), of: id) }
    }
}
