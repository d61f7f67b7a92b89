import Apps
import NightshiftAPI
import Scheduler
import Store

/// A simulated app: the state machine that controls it, and a process that follows the trace.
struct SimulatedApp {
    let id: AppID
    var behaviour = AppBehaviour()
    var machine: AppMachine
    var process: Process?
    /// The tasks that begin when the app next runs.
    var pending: [TracedTask] = []
    /// The sessions in the order of first use.
    var sessions: [Session] = []
    /// The wakes for fetches and tasks, in the order of arrival.
    var refreshWakes: [WantedWake] = []
    /// The wakes for region events and location changes, in the order of arrival.
    var locationWakes: [WantedWake] = []
    private(set) var totals: AppTotals
    private var kills: [ExitCause: Int] = [:]

    /// A background session of the app, with the numbers of its messages.
    struct Session {
        let name: String
        /// The number of the last message. The next property is the number of the last message that the app has
        /// received.
        var messages: Int64 = 0
        var handled: Int64 = 0
        var unfinished = 0
        var wakesApp = true

        /// The reason to wake the app for the session; nil if there is no reason.
        var wakeReason: WakeReason? {
            var wake = SessionWake()
            wake.wakesApp = wakesApp
            wake.lastMessage = messages
            wake.wokenThrough = handled
            wake.unfinished = unfinished
            return wake.reason
        }
    }

    init(id: AppID, machine: AppMachine) {
        self.id = id
        self.machine = machine
        totals = AppTotals(app: id)
    }

    /// Whether the process can receive commands and messages.
    var isListening: Bool { process.map { $0.isConnected && !$0.isFrozen } ?? false }

    /// The pending wakes.
    var wanted: [WantedWake] {
        sessions.compactMap { session in
            session.wakeReason.map { WantedWake(app: id, reason: $0, key: session.name, through: session.messages) }
        } + refreshWakes + locationWakes
    }

    mutating func session(_ name: String) -> Int {
        if let index = sessions.firstIndex(where: { $0.name == name }) { return index }
        sessions.append(Session(name: name))
        return sessions.count - 1
    }

    // MARK: - Totals

    /// Adds a number of seconds in which the app does not change and the machine does not sleep.
    mutating func advance(_ seconds: Double, holdsAwake: Bool) {
        switch machine.record.state {
        case .active, .inactive: totals.foreground += seconds
        case .background where process?.isFrozen == false: totals.background += seconds
        case .background, .suspended, .notRunning: break
        }
        if holdsAwake { totals.held += seconds }
    }

    mutating func count(_ decision: Decision) {
        switch decision {
        case .appLaunched: totals.launches += 1
        case .appWoken: totals.wakes += 1
        default: break
        }
    }

    mutating func countEnd() {
        guard let cause = machine.record.lastExit?.cause, Self.isKill(cause) else { return }
        kills[cause, default: 0] += 1
    }

    /// Returns whether the service killed the app because of a failure.
    private static func isKill(_ cause: ExitCause) -> Bool {
        switch cause {
        case .launchTimeout, .backgroundTimeout, .eventsOverdue, .fetchOverdue, .pushOverdue, .locationOverdue,
            .processingOverdue, .taskOverdue, .fileLock:
            true
        case .exited, .failed, .signalled, .unseen, .quit, .forceQuit, .killed, .launchFailed: false
        }
    }

    var rounded: AppTotals {
        var totals = totals
        totals.foreground = VirtualClock.milliseconds(totals.foreground)
        totals.background = VirtualClock.milliseconds(totals.background)
        totals.held = VirtualClock.milliseconds(totals.held)
        totals.kills = ExitCause.allCases.compactMap { cause in
            kills[cause].map { KillCount(cause: cause, count: $0) }
        }
        return totals
    }
}
