import Glibc
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
        let how: LaunchWords = record.state == .background ? .inBackground : .forUser
        var actions: [AppAction] = [.note(.appLaunched, how.detail(process.processID))]
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
            actions.append(.note(.appLaunched, LaunchWords.byUser.detail(process.processID)))
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
        actions += replaceUntold(now)
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
        return [.note(.appLaunched, LaunchWords.asCommand.detail(process.processID))] + beginStint(now)
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// The app has done what a command asked.
    ///
    /// - Parameter result: what came of a wake.
    package mutating func acknowledged(
        _ number: Int64, result: RefreshResult = .newData, now: ClockReading
    ) -> [AppAction] {
        let isFirstState = commands.contains { $0.command.number == number && $0.command.action == .enter }
        if isFirstState { launchBy = nil }
        commands.removeAll { $0.command.number == number }
        var actions: [AppAction] = []
        if begun.contains(where: { $0.command == number }) {
            record.faults = 0
            needsSnapshot = true
            actions += complete(.acknowledged(result), now) { $0.command == number }
        }
        return actions + suspendIfIdle(now)
    }

    /// The process is gone.
    package mutating func exited(_ exit: AppExit, now: ClockReading) -> [AppAction] {
        var exit = exit
        if let ending {
            exit.cause = ending.cause
            return ended(exit, now)
        }
        guard completesByExiting else { return ended(exit, now) }
        let (completed, isForgiven) = applyStatus(of: &exit, now)
        return completed + ended(exit, isForgiven: isForgiven, now)
    }

    /// A program says with its exit status what has come of what it was launched for; of a fetch, or a task of its own, also that
    /// nothing has. Those go wrong without the program being at fault: whoever gives them gives fewer.
    private mutating func applyStatus(
        of exit: inout AppExit, _ now: ClockReading
    ) -> (actions: [AppAction], isForgiven: Bool) {
        guard !begun.isEmpty else { return ([], false) }
        let isForChances = begun.allSatisfy(\.wake.source.hasResult)
        switch exit.cause {
        case .exited:
            record.faults = 0
            return (complete(.exited(0), now), false)
        case .failed:
            let status = exit.status ?? 1
            if isForChances, RefreshResult(exitStatus: status) != .failed {
                record.faults = 0
                exit.cause = .exited
            }
            return (complete(.exited(status), now) { $0.wake.source.hasResult }, isForChances)
        case .signalled where exit.signal == SIGTERM && begun.allSatisfy({ $0.expiration != nil }):
            return (dropLost("It was asked to end, and did not say what came of it.", now), true)
        case .unseen:
            return (dropHeard(now) + endUnseen("Nobody saw with what status it ended.", now), isForChances)
        default: return ([], false)
        }
    }

    /// Time has passed.
    package mutating func tick(now: ClockReading) -> [AppAction] {
        let time = now.awakeSeconds
        if let ending {
            guard ending.deadline ?? .infinity <= time else { return [] }
            self.ending?.deadline = nil
            return [.kill]
        }
        let actions = dropOutdated(now) + warnOfEnds(now)
        let givenUp = giveUpLate(now)
        return actions + givenUp + applyLimits(now, hasRoom: !givenUp.isEmpty)
    }

    /// - Parameter hasRoom: whether something has just ended that kept it from rest.
    private mutating func applyLimits(_ now: ClockReading, hasRoom: Bool) -> [AppAction] {
        let time = now.awakeSeconds
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
        let isAgain = suspendAgain ?? .infinity <= time
        if isAgain { suspendAgain = nil }
        let isSettled = isUnconnected || isConfirmed || !late.isEmpty || hasRoom || isAgain
        return dropped + (isSettled ? suspendIfIdle(now) : beginPossibleWakes(now))
    }

    mutating func end(_ cause: ExitCause) -> [AppAction] {
        ending = RequestedEnd(cause: cause, deadline: nil)
        return [.kill]
    }

    mutating func ended(_ exit: AppExit, isForgiven: Bool = false, _ now: ClockReading) -> [AppAction] {
        let wasBackground = record.state == .background || record.state == .suspended
        // Its user may close an app in the middle of a task that they have begun.
        let isUnanswered = begun.contains { $0.wake.source.rules.limit != .unlimited }
        let isFault = isUnanswered || wasBackground && exit.cause.isFault && exit.cause != .unseen
        if isFault, !isForgiven, exit.cause != .quit, exit.cause != .forceQuit {
            record.faults += 1
            record.faultAt = now.wallSeconds
            hasToldPause = false
        }
        let isToldBest = exit.cause.isTermination || exit.cause == .launchFailed
        let dropped = dropChoices() + dropLost(isToldBest ? exit.cause.sentence : "Its process ended first.", now)
        let stint = endStint(exit.cause.isTermination ? .terminated : .ended, now)
        forgetTasks()
        phase = .absent
        isConnected = false
        suspendAgain = nil
        suspensionPause = 0
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
