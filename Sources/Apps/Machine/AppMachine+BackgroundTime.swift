package import NightshiftAPI
import Store

/// Background tasks: what keeps an app running after its user has left it, for as long as its time lasts.
extension AppMachine {
    /// The app has work to finish. The same number again is the same task.
    ///
    /// - Parameter guest: the process that asks, where that is not the app's own.
    package mutating func beginTask(
        _ number: Int64, of guest: Int32? = nil, name: String, now: ClockReading
    ) -> Result<[AppAction], BackgroundTaskRefusal> {
        let key = TaskKey(guest: guest, number: number)
        if record.background.tasks.contains(where: { $0.key == key }) {
            unconfirmed.remove(key)
            return .success([])
        }
        guard phase != .absent, phase != .starting else { return .failure(.notRunning) }
        guard ending == nil else { return .failure(.ending) }
        guard record.background.tasks.count < Limits.backgroundTasks else { return .failure(.tooMany) }
        if let left = phase == .frozen ? leftAtRest : remaining(now), left <= terms.effectiveLead {
            return .failure(.noTime(left: left))
        }
        var actions: [AppAction] = []
        // It asked before it was frozen, and must have its answer.
        if phase == .frozen {
            phase = .present
            enter(.background, now)
            actions = [.thaw] + beginStint(left: leftAtRest, now)
        }
        record.background.tasks.append(
            StoredBackgroundTask(guest: guest, number: number, name: name, since: now.wallSeconds))
        record.background.stint?.stint.add(name)
        if isCommand { connectBy = nil }
        noteHold(now)
        var inputs: [String: String] = [:]
        if let left = remaining(now) { inputs["left"] = Self.text(left) }
        actions.append(.note(.backgroundTaskBegan, name, inputs: inputs))
        return .success(actions + suspendIfIdle(now))
    }

    /// The work is finished. A task that is not open is no error: it may have been ended already.
    package mutating func endTask(_ number: Int64, of guest: Int32? = nil, now: ClockReading) -> [AppAction] {
        let ended = removeTasks(now) { $0.key == TaskKey(guest: guest, number: number) }
        return ended.isEmpty ? [] : ended + requestEnded(now)
    }

    /// Another process of the app is gone, and with it its tasks.
    package mutating func guestLeft(_ guest: Int32, now: ClockReading) -> [AppAction] {
        let ended = removeTasks(now) { $0.guest == guest }
        return ended.isEmpty ? [] : ended + requestEnded(now)
    }

    /// A task or another process has ended its use of background time.
    private mutating func requestEnded(_ now: ClockReading) -> [AppAction] {
        guard phase == .standing, !hasTasks else { return suspendIfIdle(now) }
        // It stands still already, and stays so.
        phase = .frozen
        return suspend(now)
    }

    /// Tells the app that its background time is nearly over, or ends an app with open tasks when the time is over.
    mutating func expire(_ now: ClockReading) -> [AppAction] {
        guard record.background.stint?.isExpiring == true else { return sendExpiration(now) }
        guard hasTasks else {
            // It has ended them all, and never said that it was done.
            commands.removeAll { $0.command.action == .expire }
            return suspendIfIdle(now)
        }
        return end(.taskOverdue)
    }

    private mutating func sendExpiration(_ now: ClockReading) -> [AppAction] {
        // An app that is told late, because the service was away or busy, has as long all the same.
        let left = max(remaining(now) ?? 0, terms.effectiveLead)
        setCounting(true, now)
        record.background.stint?.left = left
        record.background.stint?.isExpiring = true
        var command = newCommand(.expire)
        command.limit = left
        let names = record.background.tasks.map(\.name)
        var actions: [AppAction] = [
            .note(
                .backgroundTimeExpiring, nil,
                inputs: [
                    "policy": terms.policy.description, "left": Self.text(left),
                    "tasks": names.prefix(BackgroundStint.mostNames).joined(separator: ", "),
                ])
        ]
        let guests = Set(record.background.tasks.compactMap(\.guest)).sorted()
        actions += guests.map { .tellGuest($0, command) }
        guard record.background.tasks.contains(where: { $0.guest == nil }) else { return actions }
        guard hasConnected else { return actions + [.terminate, .send(command)] }
        // A process that is not connected is told when it connects.
        commands.append(PendingCommand(command: command))
        if isConnected { actions.append(.send(command)) }
        return actions
    }

    // MARK: - Connections that broke

    /// Awake seconds at which tasks that were not told again are forgotten.
    var nextConfirmation: Double? { phase == .present ? confirmBy : nil }

    /// The process tells its tasks again, or has none.
    mutating func expectConfirmation(_ now: ClockReading) {
        guard !unconfirmed.isEmpty else { return }
        confirmBy = now.awakeSeconds + Self.confirmationLimit
    }

    mutating func dropUnconfirmed(_ now: ClockReading) -> [AppAction] {
        confirmBy = nil
        let lost = unconfirmed
        unconfirmed = []
        return removeTasks(now) { lost.contains($0.key) }
    }

    /// Without a process there are no tasks.
    mutating func forgetTasks() {
        confirmBy = nil
        unconfirmed = []
        record.background.tasks = []
    }

    private mutating func removeTasks(
        _ now: ClockReading, where isMeant: (StoredBackgroundTask) -> Bool
    ) -> [AppAction] {
        let ended = record.background.tasks.filter(isMeant)
        guard !ended.isEmpty else { return [] }
        record.background.tasks.removeAll(where: isMeant)
        for task in ended { unconfirmed.remove(task.key) }
        noteHold(now)
        return ended.map {
            .note(
                .backgroundTaskEnded, $0.name, inputs: ["seconds": Self.text(max(0, now.wallSeconds - $0.since))])
        }
    }
}

extension StoredBackgroundTask {
    var key: AppMachine.TaskKey { AppMachine.TaskKey(guest: guest, number: number) }
}
