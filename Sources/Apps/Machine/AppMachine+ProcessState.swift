package import NightshiftAPI
import Store

/// What is known of the process, as the record keeps it.
extension AppMachine {
    /// Empty without a process.
    private var known: StoredProcessState {
        get { record.processState ?? StoredProcessState() }
        set { record.processState = newValue }
    }

    /// Whether the process ever has read commands: it links the library.
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

    /// Whether it was launched without its user seeing it.
    var isBackgroundLaunch: Bool {
        get { known.isBackgroundLaunch }
        set { known.isBackgroundLaunch = newValue }
    }

    /// Until when a process launched in the background may still turn out to link the library.
    var connectBy: Double? {
        get { known.connectBy }
        set { known.connectBy = newValue }
    }

    /// Until when an app that is known to link the library has to have connected and entered its first state.
    var launchBy: Double? {
        get { known.launchBy }
        set { known.launchBy = newValue }
    }

    /// Commands that are not acknowledged, in their order.
    var commands: [PendingCommand] {
        get { known.commands }
        set { known.commands = newValue }
    }

    /// Reasons that it was woken for and has not completed.
    var begun: [BegunWake] {
        get { known.begun }
        set { known.begun = newValue }
    }

    /// Why its end was asked for, and when it is made to end.
    var ending: RequestedEnd? {
        get { known.ending }
        set { known.ending = newValue }
    }

    /// Whether something has changed since the last snapshot.
    var needsSnapshot: Bool {
        get { known.needsSnapshot }
        set { known.needsSnapshot = newValue }
    }

    /// Background time that was left when it was last suspended.
    var leftAtRest: Double? {
        get { known.leftAtRest }
        set { known.leftAtRest = newValue }
    }

    /// Whether locks that it holds were told in this stint.
    var hasToldLocks: Bool {
        get { known.hasToldLocks }
        set { known.hasToldLocks = newValue }
    }

    /// Whose word on its being in front counts.
    var windows: StoredWindows {
        get { known.windows ?? StoredWindows() }
        set { known.windows = newValue }
    }

    /// A command with a number of its own.
    mutating func newCommand(_ action: ProcessCommand.Action) -> ProcessCommand {
        let command = ProcessCommand(number: nextNumber, action: action)
        known.lastCommand = nextNumber
        nextNumber += 1
        return command
    }

    // MARK: - The next service

    /// Takes over the process that the last service has left.
    ///
    /// - Parameters:
    ///   - isAlive: whether the process of the record is still there; it is not frozen then.
    ///   - hadBegun: whether the program of a process that has ended had begun; if not, the app is woken again.
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
                return ended(AppExit(time: now.date, cause: .unseen, detail: "Its program had not begun."), now)
            }
            // One of another boot may have been in the middle of its work.
            let heard = record.process?.bootID == now.bootID && ending == nil ? dropHeard(now) : []
            // Nobody has seen what came of it, nor whether it was its own fault, unless its end was asked for.
            let why = "Its process ended while the service was away."
            let dropped = heard + (ending == nil ? endUnseen(why, now) : dropLost(why, now))
            if ending == nil { begun = [] }
            return dropped + ended(AppExit(time: now.date, cause: ending?.cause ?? .unseen), now)
        }
        phase = .present
        if record.state == .suspended { enter(.background, now) }
        nextNumber = max(nextNumber, known.lastCommand + 1)
        awaitConnection(now)
        var actions: [AppAction] = [.note(.appAdopted, "Process \(record.process?.processID ?? 0).")]
        // The last service may have died before it could.
        if let ending, ending.deadline == nil { actions.append(.kill) }
        // The service may have died between the user's force quit and the last of the transfers. Where the process is still
        // being ended, they end behind it.
        return actions + recoverStint(now) + (ending == nil ? endOfTransfers : []) + suspendIfIdle(now)
    }

    /// The end of a service breaks all connections: who could connect while none was there may do so anew, and what
    /// awaits an answer has its time from then on.
    private mutating func awaitConnection(_ now: ClockReading) {
        if record.processState == nil {
            // An earlier version has written no more than this.
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
        // A program without the library has never needed the service: its limit stays what it was told at its launch.
        guard hasConnected || record.linksLibrary && !hasWakeCommand else { return }
        for index in begun.indices where begun[index].deadline != nil {
            begun[index].deadline = deadline(of: begun[index], now)
        }
    }
}
