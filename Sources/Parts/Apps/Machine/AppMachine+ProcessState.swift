package import NightshiftAPI
import Store

/// The machine's knowledge of the process. It is stored in the record.
extension AppMachine {
    /// The stored state of the process; a default value if there is no process.
    private var known: StoredProcessState {
        get { record.processState ?? StoredProcessState() }
        set { record.processState = newValue }
    }

    /// Whether the process has ever opened its command stream, which means that it links the library.
    var hasConnected: Bool {
        get { known.hasConnected }
        set { known.hasConnected = newValue }
    }

    /// Whether this is a command that the user runs as background work, not an app.
    var isCommand: Bool {
        get { known.isCommand }
        set { known.isCommand = newValue }
    }

    /// The time at which the service launched the process, in awake seconds.
    var launchedAt: Double? {
        get { known.launchedAt }
        set { known.launchedAt = newValue }
    }

    /// Whether the process was launched in the background.
    var isBackgroundLaunch: Bool {
        get { known.isBackgroundLaunch }
        set { known.isBackgroundLaunch = newValue }
    }

    /// The deadline for a process launched in the background to connect. A process that has not connected by then is
    /// assumed not to link the library.
    var connectBy: Double? {
        get { known.connectBy }
        set { known.connectBy = newValue }
    }

    /// The deadline for an app that links the library to connect and enter its first state.
    var launchBy: Double? {
        get { known.launchBy }
        set { known.launchBy = newValue }
    }

    /// The commands that are not yet acknowledged, in order.
    var commands: [PendingCommand] {
        get { known.commands }
        set { known.commands = newValue }
    }

    /// The wakes that have begun and are not completed.
    var begun: [BegunWake] {
        get { known.begun }
        set { known.begun = newValue }
    }

    /// The reason why the process is being ended, and the time at which it will be killed.
    var ending: RequestedEnd? {
        get { known.ending }
        set { known.ending = newValue }
    }

    /// Whether the app needs a new snapshot before it is suspended.
    var needsSnapshot: Bool {
        get { known.needsSnapshot }
        set { known.needsSnapshot = newValue }
    }

    /// The background time that was left when the app was last suspended.
    var leftAtRest: Double? {
        get { known.leftAtRest }
        set { known.leftAtRest = newValue }
    }

    /// Whether the journal already has the locks that the process held in this background run.
    var hasToldLocks: Bool {
        get { known.hasToldLocks }
        set { known.hasToldLocks = newValue }
    }

    /// The source that decides whether the app is in the foreground: its own reports or its windows.
    var windows: StoredWindows {
        get { known.windows ?? StoredWindows() }
        set { known.windows = newValue }
    }

    /// Creates a command with a new number.
    mutating func newCommand(_ action: ProcessCommand.Action) -> ProcessCommand {
        let command = ProcessCommand(number: nextNumber, action: action)
        known.lastCommand = nextNumber
        nextNumber += 1
        return command
    }

    // MARK: - Restart of the service

    /// Adopts the process that the previous run of the service left.
    ///
    /// - Parameters:
    ///   - isAlive: whether the process of the record still exists. If so, it is not frozen.
    ///   - hadBegun: whether a process that has ended ever executed its program. If not, the app is woken again.
    package mutating func recover(isAlive: Bool, hadBegun: Bool = true, now: ClockReading) -> [AppAction] {
        guard record.process != nil else {
            record.state = .notRunning
            record.processState = nil
            forgetTasks()
            return endBackgroundRun(.ended, now) + endOfTransfers
        }
        guard isAlive else {
            guard hadBegun || ending != nil else {
                begun = []
                return ended(AppExit(time: now.date, cause: .unseen, detail: "Its program was never executed."), now)
            }
            // A process from an earlier boot may have been interrupted during its work, so its wakes are not dropped
            // here.
            let heard = record.process?.bootID == now.bootID && ending == nil ? dropHeard(now) : []
            // If the service did not end the process, the result of its wakes is unknown, and so is whether it failed.
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
        // The service may have died after the user's force quit and before all transfers were cancelled. If the process
        // is still being ended, the transfers are cancelled after that.
        return actions + recoverBackgroundRun(now) + (ending == nil ? endOfTransfers : []) + suspendIfIdle(now)
    }

    /// Gives processes time to reconnect after a restart of the service, which breaks all connections. The deadlines of
    /// unacknowledged commands start again from then.
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
        // A program without the library does not connect to the service. It keeps the limit that it got at its launch.
        guard hasConnected || record.linksLibrary && !hasWakeCommand else { return }
        for index in begun.indices where begun[index].deadline != nil {
            begun[index].deadline = deadline(of: begun[index], now)
        }
    }
}
