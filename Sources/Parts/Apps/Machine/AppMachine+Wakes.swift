package import NightshiftAPI
package import Store

/// The wakes of an app: their beginning, and the suspension of the app after them.
extension AppMachine {
    /// Replaces the wanted wakes with those that the store has now, and begins the wakes that may begin.
    package mutating func setWantedWakes(_ wakes: [WantedWake], now: ClockReading) -> [AppAction] {
        wanted = wakes
        return dropOutdated(now) + replaceUntold(now) + beginPossibleWakes(now)
    }

    /// Returns whether ``setWantedWakes(_:now:)`` may have an effect with these wakes. A waiting wake may have become
    /// able to begin with time or with a changed entry.
    package func isChanged(by wakes: [WantedWake]) -> Bool {
        wakes != wanted || wakes.contains { isOpen($0) && !isUnderWay($0) }
    }

    /// Returns the wakes that are under way or wanted, for the API.
    package func wakes(now: ClockReading) -> [WakeStatus] {
        begun.map { WakeStatus($0.wake, deadline: $0.deadline.map { now.wallTime(ofAwakeSeconds: $0) }) }
            + fresh(now).map { WakeStatus($0, deadline: nil) }
    }

    /// Returns the wanted wakes that are not under way and may begin.
    private func fresh(_ now: ClockReading) -> [WantedWake] {
        let isInFront = phase == .present && isUnhurried
        return wanted.filter { wake in
            mayBegin(wake, now) && !begun.contains { $0.wake.identity == wake.identity }
                && (isInFront || !wake.isForFront)
        }
    }

    /// Returns whether a wake may begin, regardless of the state of the app.
    func mayBegin(_ wake: WantedWake, _ now: ClockReading) -> Bool {
        isOpen(wake) && !wake.isExpired(now) && wake.source.rules.mode.map(modes.contains) ?? true
    }

    /// Replaces wakes whose payload the app has not received with newer wakes of the same key.
    ///
    /// This does not affect programs that do not link the library, because they get the payloads at their launch.
    mutating func replaceUntold(_ now: ClockReading) -> [AppAction] {
        guard !completesByExiting, ending == nil else { return [] }
        var actions: [AppAction] = []
        for index in begun.indices where begun[index].command == nil {
            let old = begun[index].wake
            let newer = wanted.first { $0.identity == old.identity && $0.through > old.through && mayBegin($0, now) }
            guard let newer, old.source.rules.handover == .payloads else { continue }
            begun[index].wake = newer
            finish(old)
            actions += drop([old], "A newer wake replaced it.")
        }
        return actions
    }

    func isOpen(_ wake: WantedWake) -> Bool { wake.through > finished[wake.identity] ?? 0 }

    /// Begins the wanted wakes that may begin now.
    mutating func beginPossibleWakes(_ now: ClockReading) -> [AppAction] {
        updateLaunchPause(now)
        let wakes = fresh(now)
        guard !wakes.isEmpty, !record.isForceQuit, ending == nil else { return [] }
        switch phase {
        case .starting: return []
        case .absent:
            guard isInstalled else { return [] }
            if faultPauseEnd != nil {
                guard !hasToldPause else { return [] }
                hasToldPause = true
                let failures =
                    record.faults == 1
                    ? "The last launch of the app failed." : "\(record.faults) launches of the app failed in a row."
                return [.note(.appLaunchPaused, failures)]
            }
            hasToldPause = false
            begin(wakes, now)
            phase = .starting
            enter(.background, now)
            return [note(wakes), .spawn(background: true, wakes: wakes, arguments: [])]
        case .frozen, .standing:
            // A frozen program without the library cannot receive a wake.
            guard hasConnected else { return [] }
            let actions = phase == .standing ? leaveStandstill(now) : wakeUp(now)
            return actions + beginHere(wakes, now)
        case .present:
            guard hasConnected else { return [] }
            // An app in the foreground reads the messages of its sessions without being woken. This runs again when the
            // app is in the background.
            guard !isUnhurried else { return beginUnhurried(wakes, now) }
            guard !begun.isEmpty || isAtRest else { return [] }
            return beginHere(wakes, now)
        }
    }

    /// Begins wakes in a running process. A process whose connection is broken receives them when it connects again. If
    /// it does not connect, the wakes become overdue.
    private mutating func beginHere(_ wakes: [WantedWake], _ now: ClockReading) -> [AppAction] {
        let first = begun.count
        begin(wakes, now)
        return [note(wakes)] + handle(from: first, now)
    }

    /// Begins wakes in a process in the foreground. They have no limit.
    private mutating func beginUnhurried(_ wakes: [WantedWake], _ now: ClockReading) -> [AppAction] {
        let first = begun.count
        begun += wakes.filter(\.source.rules.reachesForeground).map { BegunWake(wake: $0, deadline: nil) }
        return handle(from: first, now)
    }

    private mutating func handle(from first: Int, _ now: ClockReading) -> [AppAction] {
        guard isConnected else { return [] }
        return (first..<begun.count).reduce(into: []) { $0 += handle($1, now) }
    }

    /// Suspends the app if it has no work left in the background.
    mutating func suspendIfIdle(_ now: ClockReading) -> [AppAction] {
        guard phase == .present else { return [] }
        guard !isUnhurried else { return beginPossibleWakes(now) }
        guard record.state == .background, begun.isEmpty, isAtRest else { return [] }
        let wakes = beginPossibleWakes(now)
        guard wakes.isEmpty else { return wakes }
        guard record.background.tasks.isEmpty else { return standStill(now) }
        if needsSnapshot, isConnected {
            needsSnapshot = false
            return send(.snapshot, to: nil, limit: Self.snapshotLimit, now)
        }
        phase = .frozen
        suspendAgain = nil
        return suspend(now) + [.freeze]
    }

    /// Handles a failed suspension, for example because a thread of the process waits for a disk. The app continues to
    /// run, its background time counts, and the suspension is tried again later.
    package mutating func suspensionFailed(now: ClockReading) -> [AppAction] {
        guard isFrozen else { return [] }
        suspensionPause = min(max(Self.firstSuspensionPause, suspensionPause * 2), Self.longestSuspensionPause)
        suspendAgain = now.awakeSeconds + suspensionPause
        if phase == .standing { return leaveStandstill(now) }
        phase = .present
        enter(.background, now)
        let hadToldLocks = hasToldLocks
        let beginOfRun = beginBackgroundRun(left: leftAtRest, now)
        hasToldLocks = hadToldLocks
        return [.thaw, .note(.appEntered, record.state.rawValue)] + beginOfRun
    }

    /// Resumes a suspended app in the background.
    mutating func wakeUp(_ now: ClockReading) -> [AppAction] {
        phase = .present
        suspensionPause = 0
        enter(.background, now)
        return [.thaw] + beginBackgroundRun(now)
    }

    /// Ends the background run and suspends the app, because it has no work left.
    mutating func suspend(_ now: ClockReading) -> [AppAction] {
        leftAtRest = remaining(now)
        let actions = endBackgroundRun(.suspended, now)
        enter(.suspended, now)
        return actions + [.note(.appEntered, AppState.suspended.rawValue)]
    }

    /// Whether the app is in the foreground or the service may not suspend it. In both cases, wakes and commands have
    /// no limit.
    var isUnhurried: Bool { !isManaged || record.state == .active || record.state == .inactive }

    /// Whether every command is acknowledged, and the machine is waiting neither for a connection nor for the end of
    /// the process.
    var isAtRest: Bool { commands.isEmpty && ending == nil && connectBy == nil }

    private mutating func begin(_ wakes: [WantedWake], _ now: ClockReading) {
        for wake in wakes {
            var wake = BegunWake(wake: wake, deadline: nil)
            wake.deadline = deadline(of: wake, now)
            begun.append(wake)
        }
        if wakes.contains(where: \.source.rules.delaysStarts) { delayStarts(now) }
        refill(for: wakes, now)
    }

    private mutating func delayStarts(_ now: ClockReading) {
        let isRested = Self.end(of: record.startDelay, from: record.startDelayFrom, now: now) == nil
        let doubled = min(record.startDelay * 2, Self.longestStartDelay)
        record.startDelay = isRested ? Self.firstStartDelay : doubled
        record.startDelayFrom = now.wallSeconds
    }

    private func note(_ wakes: [WantedWake]) -> AppAction {
        .note(.appWoken, wakes.map { WakeStatus($0, deadline: nil).sentence }.joined(separator: " "))
    }

    /// Sends a wake to the app.
    mutating func handle(_ index: Int, _ now: ClockReading) -> [AppAction] {
        startDeadline(ofWake: index, now)
        let wake = begun[index].wake
        var command = newCommand(wake.source == .session ? .handleEvents : .handleWake)
        if wake.source == .session {
            command.session = wake.key
        } else {
            command.source = wake.source
            command.key = wake.key.isEmpty ? nil : wake.key
            command.payload = wake.payload
        }
        command.through = wake.through
        command.limit = begun[index].deadline.map { max(0, $0 - now.awakeSeconds) }
        begun[index].command = command.number
        // This command has no limit of its own: the limit of the wake applies.
        commands.append(PendingCommand(command: command))
        return [.send(command)]
    }

    /// Enters a state, records it in the journal, and sends the app the command for it.
    mutating func transition(to state: AppState, limit: Double? = nil, _ now: ClockReading) -> [AppAction] {
        enter(state, now)
        return [.note(.appEntered, state.rawValue)] + send(.enter, to: state, limit: limit, now)
    }

    mutating func send(
        _ action: ProcessCommand.Action, to state: AppState?, limit: Double?, _ now: ClockReading
    ) -> [AppAction] {
        guard hasConnected else { return [] }
        var command = newCommand(action)
        command.state = state
        command.limit = limit
        guard isConnected else {
            // The connection is broken. The command and its limit wait for the next connection.
            commands.append(PendingCommand(command: command))
            connectBy = connectBy ?? now.awakeSeconds + Self.connectLimit
            return []
        }
        commands.append(PendingCommand(command: command, deadline: limit.map { now.awakeSeconds + $0 }))
        return [.send(command)]
    }

    mutating func enter(_ state: AppState, _ now: ClockReading) {
        guard record.state != state else { return }
        record.state = state
        record.stateSince = now.wallSeconds
    }
}
