import Glibc
package import NightshiftAPI
package import Store

/// Inputs from the process: its start, its connection and its end.
extension AppMachine {
    package var isManaged: Bool { record.process?.isManaged ?? false }

    /// Records that the process was launched as requested by ``AppAction/spawn(background:wakes:arguments:)``.
    package mutating func spawned(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        phase = .present
        record.process = process
        hasConnected = false
        launchedAt = now.awakeSeconds
        isBackgroundLaunch = record.state == .background
        if record.state == .inactive {
            // A program that does not link the library cannot report its state, so the state is set here. A program
            // that links it gets the command when it connects.
            enter(.active, now)
        } else if begun.isEmpty {
            connectBy = now.awakeSeconds + Self.connectLimit
        }
        // The program of `X-Nightshift-Wake` may not link the library, even if the app does.
        if record.linksLibrary, begun.isEmpty || !hasWakeCommand { launchBy = now.awakeSeconds + Self.launchLimit }
        let how: LaunchWords = record.state == .background ? .inBackground : .forUser
        var actions: [AppAction] = [.note(.appLaunched, how.detail(process.processID))]
        if record.state == .active { actions.append(.note(.appEntered, AppState.active.rawValue)) }
        if record.state == .background { actions += beginBackgroundRun(now) }
        // The end of the app was requested before the process existed.
        if ending != nil { actions.append(.kill) }
        return actions
    }

    package mutating func spawnFailed(_ message: String, now: ClockReading) -> [AppAction] {
        ended(AppExit(time: now.date, cause: .launchFailed, detail: message), now)
    }

    /// Handles a process that opens its command stream, for the first time or again.
    package mutating func connected(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        var actions: [AppAction] = []
        if phase == .absent {
            // The user started this process, so the service may not suspend it.
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
            // The process was launched in the foreground and considers itself active, but the app has since been sent
            // to the background.
            case .background where !isBackgroundLaunch:
                actions += send(.enter, to: .background, limit: isManaged ? Self.backgroundLimit : nil, now)
            case .background, .inactive, .notRunning, .suspended: launchBy = nil
            }
        }
        actions += replaceUntold(now)
        for index in begun.indices where begun[index].command == nil { actions += handle(index, now) }
        return actions + suspendIfIdle(now)
    }

    /// Adopts a command that the user runs as background work. The service limits the command, although it is not an
    /// app and the service did not launch it.
    package mutating func adoptedCommand(_ process: StoredProcess, now: ClockReading) -> [AppAction] {
        guard phase == .absent else { return [] }
        phase = .present
        isCommand = true
        record.process = process
        enter(.background, now)
        // The command must begin its first background task by this deadline. Otherwise it is suspended.
        connectBy = now.awakeSeconds + Self.confirmationLimit
        return [.note(.appLaunched, LaunchWords.asCommand.detail(process.processID))] + beginBackgroundRun(now)
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// Handles the app's acknowledgement of a command.
    ///
    /// - Parameter result: the result of a wake.
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

    /// Handles the end of the process.
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

    /// Applies the exit status of a program to the wakes that it was launched for.
    ///
    /// For fetches and scheduled tasks, the status may also mean "no data" or "failed". Such a failure does not count
    /// as a fault of the program. Instead, the feature that requested the wake requests fewer wakes.
    private mutating func applyStatus(
        of exit: inout AppExit, _ now: ClockReading
    ) -> (actions: [AppAction], isForgiven: Bool) {
        guard !begun.isEmpty else { return ([], false) }
        let isForChances = begun.allSatisfy(\.wake.source.rules.hasResult)
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
            return (complete(.exited(status), now) { $0.wake.source.rules.hasResult }, isForChances)
        case .signalled where exit.signal == SIGTERM && begun.allSatisfy({ $0.expiration != nil }):
            return (dropLost("It was asked to end, and did not report a result.", now), true)
        case .unseen:
            return (dropHeard(now) + endUnseen("Its exit status is unknown.", now), isForChances)
        default: return ([], false)
        }
    }

    /// Executes everything that is due by now.
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

    /// Applies the limits that are exceeded by now.
    ///
    /// - Parameter hasRoom: whether a wake that kept the app from being suspended has just ended.
    private mutating func applyLimits(_ now: ClockReading, hasRoom: Bool) -> [AppAction] {
        let time = now.awakeSeconds
        let late = commands.filter { $0.deadline ?? .infinity <= time }.map(\.command)
        commands.removeAll { late.contains($0.command) }
        // A missing snapshot is not a reason to end an app.
        if late.contains(where: { $0.action == .enter }) { return end(.backgroundTimeout) }
        if let overdueWake, overdueWake.deadline <= time { return end(overdueWake.cause) }
        if launchBy ?? .infinity <= time { return end(.launchTimeout) }
        let isUnconnected = connectBy ?? .infinity <= time
        if isUnconnected {
            connectBy = nil
            // The process is not connected and cannot receive these commands.
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
        // The user may close an app during a continued task, so such a task does not count.
        let isUnanswered = begun.contains { $0.wake.source.rules.limit != .unlimited }
        let isFault = isUnanswered || wasBackground && exit.cause.isFault && exit.cause != .unseen
        if isFault, !isForgiven, exit.cause != .quit, exit.cause != .forceQuit {
            record.faults += 1
            record.faultAt = now.wallSeconds
            hasToldPause = false
        }
        let isToldBest = exit.cause.isTermination || exit.cause == .launchFailed
        let dropped =
            dropChoices()
            + dropLost(isToldBest ? exit.cause.sentence : "Its process ended before the work was done.", now)
        let endOfRun = endBackgroundRun(exit.cause.isTermination ? .terminated : .ended, now)
        forgetTasks()
        phase = .absent
        isConnected = false
        suspendAgain = nil
        suspensionPause = 0
        record.processState = nil
        record.process = nil
        record.lastExit = exit
        enter(.notRunning, now)
        return dropped + endOfRun + [.note(.appEnded, exit.sentence, inputs: ["cause": exit.cause.rawValue])]
            + endOfTransfers + beginPossibleWakes(now)
    }

    /// The effect that the end of the process has on the app's transfers. After a force quit, they are cancelled.
    var endOfTransfers: [AppAction] {
        record.isForceQuit ? [.cancelTransfers] : []
    }
}

extension ExitCause {
    /// Whether the service ended the process because the app exceeded a limit.
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
    /// A sentence that tells people how the process ended.
    package var sentence: String {
        var words = cause.sentence
        if let status, status != 0 { words += " Its status was \(status)." }
        if let signal { words += " The signal was \(signal)." }
        if let code = cause.code { words += " 0x\(String(code, radix: 16))." }
        if let detail { words += " \(detail)" }
        return words
    }
}
