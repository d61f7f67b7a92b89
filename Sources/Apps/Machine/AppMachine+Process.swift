package import NightshiftAPI
package import Store

/// Inputs from the process: its start, its connection and its end.
extension AppMachine {
    package var isManaged: Bool { record.process?.isManaged ?? false }

    /// It was launched as ``AppAction/spawn(background:wakes:arguments:)`` asked.
    package mutating func spawned(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        phase = .present
        record.process = process
        hasConnected = false
        launchedAt = now.awakeSeconds
        isBackgroundLaunch = record.state == .background
        if record.state == .inactive {
            // A program that does not link the library has no other way to say so; one that does is told when it connects.
            enter(.active, now)
        } else if begun.isEmpty {
            connectBy = now.awakeSeconds + Self.connectLimit
        }
        // A program that a wake starts in place of the app need not link the library.
        if record.linksLibrary, begun.isEmpty || !hasWakeCommand { launchBy = now.awakeSeconds + Self.launchLimit }
        let how = record.state == .background ? "In the background, as process" : "As process"
        var actions: [AppAction] = [.note(.appLaunched, "\(how) \(process.processID).")]
        if record.state == .active { actions.append(.note(.appEntered, AppState.active.rawValue)) }
        if record.state == .background { actions += beginStint(now) }
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
            actions += clearFaults()
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
            for index in commands.indices
            where commands[index].deadline == nil && commands[index].command.action == .enter {
                commands[index].deadline = commands[index].command.limit.map { now.awakeSeconds + $0 }
            }
            actions += commands.map { .send($0.command) }
            unconfirmed.formUnion(record.background.tasks.filter { $0.guest == nil }.map(\.key))
            expectConfirmation(now)
        } else {
            hasConnected = true
            switch record.state {
            case .active: actions += send(.enter, to: .active, limit: nil, now)
            // It was launched in front, takes itself for active, and its user has left it meanwhile.
            case .background where !isBackgroundLaunch:
                actions += send(.enter, to: .background, limit: isManaged ? Self.backgroundLimit : nil, now)
            case .background, .inactive, .notRunning, .suspended: launchBy = nil
            }
        }
        for index in begun.indices where begun[index].command == nil { actions += handle(index, now) }
        return actions + suspendIfIdle(now)
    }

    /// A command that somebody runs as background work: no app, and not launched by the service, but its to limit.
    package mutating func adoptedCommand(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        guard phase == .absent else { return [] }
        phase = .present
        isCommand = true
        record.process = process
        enter(.background, now)
        // Until then it has its first background task, or is done.
        connectBy = now.awakeSeconds + Self.confirmationLimit
        return [.note(.appLaunched, "As a command, process \(process.processID).")] + beginStint(now)
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// The app has done what a command asked.
    package mutating func acknowledged(_ number: Int64, now: ClockReading) -> [AppAction] {
        let isFirstState = commands.contains { $0.command.number == number && $0.command.action == .enter }
        if isFirstState { launchBy = nil }
        commands.removeAll { $0.command.number == number }
        var actions: [AppAction] = []
        if let index = begun.firstIndex(where: { $0.command == number }) {
            let wake = begun.remove(at: index).wake
            record.faults = 0
            needsSnapshot = true
            actions += complete(wake, .acknowledged)
        }
        return actions + suspendIfIdle(now)
    }

    /// The process is gone.
    package mutating func exited(_ exit: AppExit, now: ClockReading) -> [AppAction] {
        var exit = exit
        var actions: [AppAction] = []
        if let ending {
            exit.cause = ending.cause
        } else if exit.cause == .exited, completesByExiting {
            for wake in begun.map(\.wake) { actions += complete(wake, .exited) }
            if !begun.isEmpty { record.faults = 0 }
            begun = []
        }
        return actions + ended(exit, now)
    }

    /// Time has passed.
    package mutating func tick(now: ClockReading) -> [AppAction] {
        let time = now.awakeSeconds
        if let ending {
            guard ending.deadline ?? .infinity <= time else { return [] }
            self.ending?.deadline = nil
            return [.kill]
        }
        let late = commands.filter { $0.deadline ?? .infinity <= time }.map(\.command)
        commands.removeAll { late.contains($0.command) }
        // No snapshot is no reason to end an app.
        if late.contains(where: { $0.action == .enter }) { return end(.backgroundTimeout) }
        if let overdueWake, overdueWake.deadline <= time { return end(overdueWake.cause) }
        if launchBy ?? .infinity <= time { return end(.launchTimeout) }
        let isUnconnected = connectBy ?? .infinity <= time
        if isUnconnected {
            connectBy = nil
            // Nobody is there to hear it.
            if !isConnected { commands.removeAll { $0.command.action == .enter || $0.command.action == .snapshot } }
        }
        let isConfirmed = nextConfirmation ?? .infinity <= time
        let dropped = isConfirmed ? dropUnconfirmed(now) : []
        if nextExpiration ?? .infinity <= time { return dropped + expire(now) }
        let isSettled = isUnconnected || isConfirmed || !late.isEmpty
        return dropped + (isSettled ? suspendIfIdle(now) : beginPossibleWakes(now))
    }

    mutating func end(_ cause: ExitCause) -> [AppAction] {
        ending = RequestedEnd(cause: cause, deadline: nil)
        return [.kill]
    }

    mutating func ended(_ exit: AppExit, _ now: ClockReading) -> [AppAction] {
        let wasBackground = record.state == .background || record.state == .suspended
        let isFault = !begun.isEmpty || wasBackground && exit.cause.isFault && exit.cause != .unseen
        if isFault, exit.cause != .quit, exit.cause != .forceQuit {
            record.faults += 1
            record.faultAt = now.wallSeconds
            hasToldPause = false
        }
        let dropped = dropLost()
        let stint = endStint(exit.cause.isTermination ? .terminated : .ended, now)
        forgetTasks()
        phase = .absent
        isConnected = false
        record.processState = nil
        record.process = nil
        record.lastExit = exit
        enter(.notRunning, now)
        return dropped + stint + [.note(.appEnded, exit.sentence, inputs: ["cause": exit.cause.rawValue])]
            + endOfTransfers + beginPossibleWakes(now)
    }

    /// The effect on its transfers when its process is gone: a force quit ends them.
    var endOfTransfers: [AppAction] {
        record.isForceQuit ? [.cancelTransfers] : []
    }
}

extension ExitCause {
    /// Whether the service ended the process because of what the app did.
    fileprivate var isTermination: Bool {
        switch self {
        case .launchTimeout, .backgroundTimeout, .eventsOverdue, .fetchOverdue, .pushOverdue, .locationOverdue,
            .processingOverdue, .taskOverdue, .fileLock:
            true
        case .exited, .failed, .signalled, .unseen, .quit, .forceQuit, .killed, .launchFailed: false
        }
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
