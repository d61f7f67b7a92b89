package import NightshiftAPI
import Store

/// The known facts about the process, stored in the record.
extension AppMachine {
    /// The stored state of the process; a default value without a process.
    private var known: StoredProcessState {
        get { record.processState ?? StoredProcessState() }
        set { record.processState = newValue }
    }

    /// Whether the process has ever opened its command stream, which means that it links the library.
    var hasConnected: Bool {
        get { known.hasConnected }
        set { known.hasConnected = newValue }
    }

    /// Whether it is a command that somebody runs as background work, not an app.
    var isCommand: Bool {
        get { known.isCommand }
        set { known.isCommand = newValue }
    }

    /// Awake seconds at which the service launched the process.
    var launchedAt: Double? {
        get { known.launchedAt }
        set { known.launchedAt = newValue }
    }

    /// Whether the process was launched in the background.
    var isBackgroundLaunch: Bool {
        get { known.isBackgroundLaunch }
        set { known.isBackgroundLaunch = newValue }
    }

    /// The deadline by which a process launched in the background must connect, to be known to link the library.
    var connectBy: Double? {
        get { known.connectBy }
        set { known.connectBy = newValue }
    }

    /// The deadline by which an app that links the library must have connected and entered its first state.
    var launchBy: Double? {
        get { known.launchBy }
        set { known.launchBy = newValue }
    }

    /// Commands that are not acknowledged, in order.
    var commands: [PendingCommand] {
        get { known.commands }
        set { known.commands = newValue }
    }

    /// Wakes that have begun and are not completed.
    var begun: [BegunWake] {
        get { known.begun }
        set { known.begun = newValue }
    }

    /// The cause for which the process is being ended, and the time at which it is killed.
    var ending: RequestedEnd? {
        get { known.ending }
        set { known.ending = newValue }
    }

    /// Whether the app needs a new snapshot before it is suspended.
    var needsSnapshot: Bool {
        get { known.needsSnapshot }
        set { known.needsSnapshot = newValue }
    }

    /// Background time that was left when the app was last suspended.
    var leftAtRest: Double? {
        get { known.leftAtRest }
        set { known.leftAtRest = newValue }
    }

    /// Whether the locks that the process holds were recorded during this background run.
    var hasToldLocks: Bool {
        get { known.hasToldLocks }
        set { known.hasToldLocks = newValue }
    }

    /// Whether the app's own reports or its windows decide that it is in the foreground.
    var windows: StoredWindows {
        get { known.windows ?? StoredWindows() }
        set { known.windows = newValue }
    }

    /// Returns a command with a new number.
    mutating func newCommand(_ action: ProcessCommand.Action) -> ProcessCommand {
        let command = ProcessCommand(number: nextNumber, action: action)
        known.lastCommand = nextNumber
        nextNumber += 1
        return command
    }

    // MARK: - Restart of the service

    /// Takes over the process that the previous run of the service has left.
    ///
    /// - Parameters:
    ///   - isAlive: whether the process of the record still exists; it is not frozen then.
    ///   - hadBegun: whether the program of a process that has ended was ever executed; if not, the app is woken again.
    package mutating func recover(isAlive: Bool, hadBegun: Bool = true, now: ClockReading) -> [AppAction] {
        guard record.process != nil else {
            record.state = .notRunning
            record.processState = nil
            forgetTasks()
            return endStint(.ended, now) + endOfTransfers
        }
        guard isAlive else {
            guard hadBegun || ending != nil else {
                begun = []
                return ended(AppExit(time: now.date, cause: .unseen, detail: "Its program was never executed."), now)
            }
            // A process of an earlier boot may have been interrupted in the middle of its work.
            let heard = record.process?.bootID == now.bootID && ending == nil ? dropHeard(now) : []
            // Unless the service ended the process, its result and its own fault are unknown.
            let why = "Its process ended while the service was not running."
            let dropped = heard + (ending == nil ? endUnseen(why, now) : dropLost(why, now))
            if ending == nil { begun = [] }
            return dropped + ended(AppExit(time: now.date, cause: ending?.cause ?? .unseen), now)
        }
        phase = .present
        if record.state == .suspended { enter(.background, now) }
        nextNumber = max(nextNumber, known.lastCommand + 1)
        awaitConnection(now)
        var actions: [AppAction] = [.note(.appAdopted, "Process \(record.process?.processID ?? 0).")]
        // The previous run of the service may have died before it could kill the process.
        if let ending, ending.deadline == nil { actions.append(.kill) }
        // The service may have died between the user's force quit and the last of the transfers. If the process is
        // still being ended, the transfers end after it.
        return actions + recoverStint(now) + (ending == nil ? endOfTransfers : []) + suspendIfIdle(now)
    }

    /// Gives processes time to connect again after a restart of the service, which breaks all connections.
    /// Unacknowledged commands get their time from then on.
    private mutating func awaitConnection(_ now: ClockReading) {
        if record.processState == nil {
            // An earlier version of the service stored only `linksLibrary`.
            hasConnected = record.linksLibrary
            connectBy = now.awakeSeconds
        }
        if hasConnected || connectBy != nil {
            connectBy = now.awakeSeconds + (isCommand ? Self.confirmationLimit : Self.connectLimit)
        }
        if launchBy != nil { launchBy = now.awakeSeconds + Self.launchLimit }
        if commands.contains(where: { $0.command.action == .snapshot }) {
            commands.removeAll { $0.command.action == .snapshot }
            needsSnapshot = true
        }
        for index in commands.indices { commands[index].deadline = nil }
        // A program without the library does not connect to the service: its limit stays the one that it got at its
        // launch.
        guard hasConnected || record.linksLibrary && !hasWakeCommand else { return }
        for index in begun.indices where begun[index].deadline != nil {
            begun[index].deadline = deadline(of: begun[index], now)
        }
    }
}
