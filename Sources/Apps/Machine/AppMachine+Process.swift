package import NightshiftAPI
package import Store

/// What happens to the process.
extension AppMachine {
    package var isManaged: Bool { record.process?.isManaged ?? false }

    /// It was launched as ``AppAction/spawn(background:wakes:arguments:)`` asked.
    package mutating func spawned(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        phase = .present
        record.process = process
        hasConnected = false
        launchedAt = now.bootSeconds
        if record.state == .inactive {
            // A program that does not link the library has no other way to say so; one that does is told when it connects.
            enter(.active, now)
        } else if begun.isEmpty {
            connectBy = now.bootSeconds + Self.connectLimit
        }
        let how = record.state == .background ? "In the background, as process" : "As process"
        var actions: [AppAction] = [.note(.appLaunched, "\(how) \(process.processID).")]
        if record.state == .active { actions.append(.note(.appEntered, AppState.active.rawValue)) }
        // Its end was asked for before it was there.
        if ending != nil { actions.append(.kill) }
        return actions
    }

    package mutating func spawnFailed(_ message: String, now: ClockReading) -> [AppAction] {
        ended(AppExit(time: now.date, cause: .launchFailed, detail: message), now)
    }

    /// Its process reads commands: for the first time, or again.
    package mutating func connected(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        var actions: [AppAction] = []
        if phase == .absent {
            // Its user has started it: it is not the service's to suspend.
            actions += welcome()
            phase = .present
            record.process = process
            hasConnected = false
            enter(.active, now)
            actions.append(.note(.appLaunched, "By its user, as process \(process.processID)."))
        }
        isConnected = true
        record.linksLibrary = true
        connectBy = nil
        if hasConnected {
            actions += commands.map { .send($0.command) }
        } else {
            hasConnected = true
            if record.state == .active { actions += send(.enter, to: .active, limit: nil, now) }
        }
        for index in begun.indices where begun[index].command == nil { actions += handle(index, now) }
        return actions + rest(now)
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// The app has done what a command asked.
    package mutating func acknowledged(_ number: Int64, now: ClockReading) -> [AppAction] {
        commands.removeAll { $0.command.number == number }
        var actions: [AppAction] = []
        if let index = begun.firstIndex(where: { $0.command == number }) {
            let wake = begun.remove(at: index).wake
            finished[wake.session] = wake.through
            record.faults = 0
            needsSnapshot = true
            actions.append(.finishWake(session: wake.session, through: wake.through, acknowledging: false))
            actions.append(.note(.appWakeCompleted, wake.session))
        }
        return actions + rest(now)
    }

    /// The process is gone.
    package mutating func exited(_ exit: AppExit, now: ClockReading) -> [AppAction] {
        var exit = exit
        var actions: [AppAction] = []
        if let ending {
            exit.cause = ending.cause
        } else if exit.cause == .exited, !hasConnected, hasWakeCommand || !record.linksLibrary {
            // A program without the library answers with its exit status.
            for wake in begun.map(\.wake) {
                actions.append(.finishWake(session: wake.session, through: wake.through, acknowledging: true))
                actions.append(.note(.appWakeCompleted, wake.session))
                finished[wake.session] = wake.through
            }
            if !begun.isEmpty { record.faults = 0 }
            begun = []
        }
        return actions + ended(exit, now)
    }

    /// Time has passed.
    package mutating func tick(now: ClockReading) -> [AppAction] {
        let time = now.bootSeconds
        if let ending {
            guard ending.deadline ?? .infinity <= time else { return [] }
            self.ending?.deadline = nil
            return [.kill]
        }
        let late = commands.filter { $0.deadline ?? .infinity <= time }.map(\.command)
        commands.removeAll { late.contains($0.command) }
        // No snapshot is no reason to end an app.
        if late.contains(where: { $0.action == .enter }) { return end(.backgroundTimeout) }
        if begun.contains(where: { $0.deadline ?? .infinity <= time }) { return end(.eventsOverdue) }
        let isUnconnected = connectBy ?? .infinity <= time
        if isUnconnected { connectBy = nil }
        if isUnconnected || !late.isEmpty { return rest(now) }
        return consider(now)
    }

    /// What a service that starts makes of what the last one left.
    ///
    /// - Parameter isAlive: whether the process of the record is still there; it is not frozen then.
    package mutating func recover(isAlive: Bool, now: ClockReading) -> [AppAction] {
        // The service may have died between the user's force quit and the last of the transfers.
        let rest: [AppAction] = record.isForceQuit ? [.cancelTransfers] : []
        guard record.process != nil else {
            record.state = .notRunning
            return rest
        }
        guard isAlive else {
            return ended(AppExit(time: now.date, cause: .unseen), now) + rest
        }
        phase = .present
        hasConnected = true
        if record.state == .suspended { enter(.background, now) }
        connectBy = now.bootSeconds + Self.connectLimit
        return [.note(.appAdopted, "Process \(record.process?.processID ?? 0).")] + rest
    }

    private mutating func end(_ cause: ExitCause) -> [AppAction] {
        ending = Ending(cause: cause, deadline: nil)
        return [.kill]
    }

    private mutating func ended(_ exit: AppExit, _ now: ClockReading) -> [AppAction] {
        let wasBackground = record.state == .background || record.state == .suspended
        let isFault = !begun.isEmpty || wasBackground && exit.cause.isFault && exit.cause != .unseen
        if isFault, exit.cause != .quit, exit.cause != .forceQuit {
            record.faults += 1
            record.faultAt = now.wallSeconds
            hasToldPause = false
        }
        phase = .absent
        isConnected = false
        hasConnected = false
        commands = []
        begun = []
        ending = nil
        connectBy = nil
        launchedAt = nil
        needsSnapshot = false
        record.process = nil
        record.lastExit = exit
        enter(.notRunning, now)
        return [.note(.appEnded, exit.sentence)] + consider(now)
    }
}

extension AppExit {
    /// How it ended, in a person's words.
    package var sentence: String {
        var words = cause.sentence
        if let status, status != 0 { words += " Its status was \(status)." }
        if let signal { words += " The signal was \(signal)." }
        if let code = cause.code { words += " 0x\(String(code, radix: 16))." }
        if let detail { words += " \(detail)" }
        return words
    }
}
