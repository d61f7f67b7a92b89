package import NightshiftAPI
import Store

/// Background tasks. They keep an app running in the background until its background time is over.
extension AppMachine {
    /// Begins a background task. A repeated number means the same task.
    ///
    /// - Parameter guest: the pid of the secondary process that begins the task; nil for the app's own process.
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
        // The process sent the request before it was frozen, so it must still get the response.
        if phase == .frozen {
            phase = .present
            enter(.background, now)
            actions = [.thaw] + beginBackgroundRun(left: leftAtRest, now)
        }
        record.background.tasks.append(
            StoredBackgroundTask(guest: guest, number: number, name: name, since: now.wallSeconds))
        record.background.openRun?.run.add(name)
        if isCommand { connectBy = nil }
        noteHold(now)
        var inputs: [String: String] = [:]
        if let left = remaining(now) { inputs["left"] = Self.text(left) }
        actions.append(.note(.backgroundTaskBegan, name, inputs: inputs))
        return .success(actions + suspendIfIdle(now))
    }

    /// Ends a background task. An unknown number is not an error, because the task may have ended already.
    package mutating func endTask(_ number: Int64, of guest: Int32? = nil, now: ClockReading) -> [AppAction] {
        let ended = removeTasks(now) { $0.key == TaskKey(guest: guest, number: number) }
        return ended.isEmpty ? [] : ended + requestEnded(now)
    }

    /// Handles the end of a secondary process of the app. The background tasks of that process end with it.
    package mutating func guestLeft(_ guest: Int32, now: ClockReading) -> [AppAction] {
        let ended = removeTasks(now) { $0.guest == guest }
        return ended.isEmpty ? [] : ended + requestEnded(now)
    }

    /// Suspends the app if the task that has just ended was its last one.
    private mutating func requestEnded(_ now: ClockReading) -> [AppAction] {
        guard phase == .standing, !hasTasks else { return suspendIfIdle(now) }
        // The app is already frozen, and stays frozen.
        phase = .frozen
        return suspend(now)
    }

    /// Warns the app shortly before its background time is over. When the time is over, ends the app if it still has
    /// open tasks.
    mutating func expire(_ now: ClockReading) -> [AppAction] {
        guard record.background.openRun?.isExpiring == true else { return sendExpiration(now) }
        guard hasTasks else {
            // The app has ended all its tasks, but has not acknowledged the expire command.
            commands.removeAll { $0.command.action == .expire }
            return suspendIfIdle(now)
        }
        return end(.taskOverdue)
    }

    private mutating func sendExpiration(_ now: ClockReading) -> [AppAction] {
        // An app that is warned late, because the service was down or busy, still gets the full warning time.
        let left = max(remaining(now) ?? 0, terms.effectiveLead)
        setCounting(true, now)
        record.background.openRun?.left = left
        record.background.openRun?.isExpiring = true
        var command = newCommand(.expire)
        command.limit = left
        let names = record.background.tasks.map(\.name)
        var actions: [AppAction] = [
            .note(
                .backgroundTimeExpiring, nil,
                inputs: [
                    "policy": terms.policy.description, "left": Self.text(left),
                    "tasks": names.prefix(BackgroundRun.mostNames).joined(separator: ", "),
                ])
        ]
        let guests = Set(record.background.tasks.compactMap(\.guest)).sorted()
        actions += guests.map { .tellGuest($0, command) }
        guard record.background.tasks.contains(where: { $0.guest == nil }) else { return actions }
        guard hasConnected else { return actions + [.terminate, .send(command)] }
        // A process that is not connected gets the command when it connects.
        commands.append(PendingCommand(command: command))
        if isConnected { actions.append(.send(command)) }
        return actions
    }

    // MARK: - Broken connections

    /// The time, in awake seconds, at which tasks that the process has not reported again are dropped.
    var nextConfirmation: Double? { phase == .present ? confirmBy : nil }

    /// Starts the time within which the process must report its open tasks again.
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

    /// Drops all tasks, because the process has ended.
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
