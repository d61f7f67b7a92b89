package import NightshiftAPI
package import Runtime
import Store

/// The apps of one user: their machines, and what the disk does not contain yet.
///
/// The machines make the decisions. This value keeps their actions until the service executes them.
package struct AppsState: PartState {
    var machines = MachineTable()
    /// Apps with unreadable rows. The service does not touch these apps, so that it does not overwrite their rows.
    private(set) var unreadable: [AppID: UnreadableApp] = [:]
    /// The actions that were not executed yet, in order.
    private var actions: [(app: AppID, action: AppAction)] = []
    /// The changes of machines that the service has not followed yet, in order.
    private var steps: [MachineStep] = []
    private var effects: [AppEffect] = []
    /// Adopted apps whose first step has not begun. They are written with it.
    private var recovered: [AppID] = []

    var touched = Touched<AppID>()
    var journal = Outbox<JournalEntry>()
    var ends = Outbox<FinishedWake>()
    /// Apps that came to the foreground. Their blocked tasks have to be unblocked.
    var fronts = Outbox<AppID>()
    /// Removed apps whose rows have to be deleted.
    var removed = Outbox<AppID>()

    package init() {}

    package var nextDecision: DecisionTime? { machines.nextDeadline.map { .awakeSeconds($0) } }

    package mutating func decide(at now: ClockReading) {
        for id in recovered { touched.touch(id) }
        recovered = []
    }

    package mutating func takeEffects() -> [AppEffect] {
        defer { effects = [] }
        return effects
    }

    // MARK: - Inputs

    /// Adds the apps of the previous run whose rows are unreadable.
    mutating func begin(unreadable apps: [UnreadableApp], now: ClockReading) {
        unreadable = Dictionary(apps.map { ($0.id, $0) }) { $1 }
        for app in apps { note(.unreadable, of: app.id, app.reason, now: now) }
    }

    /// Adds an adopted app, with the actions that its machine has decided.
    mutating func adopt(_ machine: AppMachine, _ actions: [AppAction]) {
        machines[machine.record.id] = machine
        recovered.append(machine.record.id)
        add(actions, of: machine.record.id)
    }

    /// Gives a machine an input, and returns its actions.
    ///
    /// - Parameter current: the app's machine, updated with what the service knows outside of this state.
    mutating func apply(
        to current: AppMachine, now: ClockReading, _ input: (inout AppMachine, ClockReading) -> [AppAction]
    ) -> [AppAction] {
        let id = current.record.id
        var machine = current
        let actions = input(&machine, now)
        machines[id] = machine
        steps.append(MachineStep(app: id, before: current, after: machine))
        if !actions.isEmpty || machine.record != current.record { touched.touch(id) }
        return actions
    }

    /// Adds actions after those that were not executed yet, or before them.
    mutating func add(_ actions: [AppAction], of app: AppID, first: Bool = false) {
        let added = actions.map { (app: app, action: $0) }
        self.actions.insert(contentsOf: added, at: first ? 0 : self.actions.count)
    }

    mutating func add(_ effect: AppEffect) {
        switch effect {
        // A process executes its program before anything else happens for its app.
        case .begin: effects.insert(effect, at: 0)
        // Only the last report counts.
        case .setListening(let app, let isListening):
            effects.removeAll { $0 == .setListening(app, !isListening) || $0 == effect }
            effects.append(effect)
        case .readWakes where effects.contains(effect): break
        case .acknowledge, .cancelTransfers, .readWakes: effects.append(effect)
        }
    }

    mutating func note(_ decision: Decision, of app: AppID, _ detail: String? = nil, now: ClockReading) {
        journal.note(JournalEntry(time: now.date, decision: decision, app: app, detail: detail))
    }

    mutating func finish(_ wake: FinishedWake) {
        ends.append(wake)
        // When a wake has ended, a waiting wake may be able to begin.
        add(.readWakes(wake.wake.app))
    }

    mutating func setPolicy(_ policy: BackgroundPolicy?, of current: AppMachine) {
        var machine = current
        machine.record.background.policy = policy
        machines[machine.record.id] = machine
        touched.touch(machine.record.id)
    }

    /// Removes an app that is not running, and all rows about it.
    mutating func remove(_ id: AppID, now: ClockReading) {
        machines[id] = nil
        ends.removeAll { $0.wake.app == id }
        removed.append(id)
        note(.appRemoved, of: id, now: now)
    }

    /// Removes the unreadable row of an app.
    mutating func removeUnreadable(_ id: AppID, now: ClockReading) {
        guard unreadable.removeValue(forKey: id) != nil else { return }
        touched.touch(id)
        note(.unreadable, of: id, "The unreadable row was removed. The app starts with a new one.", now: now)
    }

    /// Removes the machine of a program that has ended. Its row is gone.
    mutating func forgetEndedProgram(_ id: AppID) {
        guard id.isProgram, let machine = machines[id], machine.record.process == nil else { return }
        machines[id] = nil
    }

    /// Returns the apps whose deadlines are over, and clears these deadlines.
    mutating func takeDue(_ now: ClockReading) -> [AppID] { machines.takeDue(now) }

    // MARK: - Execution

    mutating func takeSteps() -> [MachineStep] {
        defer { steps = [] }
        return steps
    }

    /// Removes and returns the next action that the service has to execute. Handles actions that concern only this
    /// state.
    mutating func takeAction(_ now: ClockReading) -> (app: AppID, action: AppAction)? {
        while !actions.isEmpty {
            let next = actions.removeFirst()
            let id = next.app
            switch next.action {
            case .note(let decision, let detail, let inputs):
                journal.note(
                    JournalEntry(
                        time: now.date, decision: decision, app: id, detail: detail,
                        inputs: inputs.isEmpty ? nil : inputs))
            case .finishWake(let wake, let outcome):
                let end = FinishedWake(wake: wake, outcome: outcome, time: now.wallSeconds)
                // The messages are acknowledged first. Otherwise, a crash of the service in between could leave
                // messages without a wake.
                if end.acknowledgesMessages { add(.acknowledge(end)) } else { finish(end) }
            case .cancelTransfers: add(.cancelTransfers(id))
            case .cameToFront: fronts.append(id)
            case .spawn, .send, .tellGuest, .freeze, .thaw, .terminate, .kill: return next
            }
        }
        return nil
    }
}

/// A change of an app's machine.
package struct MachineStep: Sendable {
    var app: AppID
    var before: AppMachine
    var after: AppMachine
}

/// An effect on other parts or on a launched process. It is executed after the write of its step.
package enum AppEffect: Hashable, Sendable {
    /// Lets a launched process execute its program. The next run of the service then knows the process, and does not
    /// launch the app a second time.
    case begin(ProcessIdentity, AppID)
    /// Cancels the app's transfers, because the user has force-quit it.
    case cancelTransfers(AppID)
    /// Reports whether the app's process can read messages.
    case setListening(AppID, Bool)
    /// Acknowledges the messages of a session, then records the end of its wake.
    case acknowledge(FinishedWake)
    /// Reads the wanted wakes of the app again.
    case readWakes(AppID)
}

/// The end of a wake.
package struct FinishedWake: Hashable, Sendable {
    var wake: WantedWake
    var outcome: WakeOutcome
    /// The time of the end, in seconds since 1970.
    var time: Double

    /// Whether the end of the wake means that the program has handled the messages of the session.
    var acknowledgesMessages: Bool {
        guard wake.source == .session, case .exited = outcome else { return false }
        return true
    }
}
