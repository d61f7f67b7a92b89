import Apps
import NightshiftAPI
import Scheduler
import Store

/// An app of a trace: the machine that decides over it, and a process that does as the trace says.
struct SimulatedApp {
    let id: AppID
    var behaviour = AppBehaviour()
    var machine: AppMachine
    var process: Process?
    /// Work that begins when the app next runs.
    var pending: [TracedTask] = []
    /// In the order in which they were first used.
    var sessions: [Session] = []
    /// Wakes for fetches and tasks, in the order in which they came.
    var refreshWakes: [WantedWake] = []
    /// Wakes for crossings and changes of place, in the order in which they came.
    var locationWakes: [WantedWake] = []
    private(set) var totals: AppTotals
    private var kills: [ExitCause: Int] = [:]

    /// A background session and its messages, by their numbers.
    struct Session {
        let name: String
        /// The last message that there is, and the last one that the app has had.
        var messages: Int64 = 0
        var handled: Int64 = 0
        var unfinished = 0
        var wakesApp = true

        /// Why the app is to be woken for it; nil where it is not.
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

    /// Whether its process can hear of anything.
    var isListening: Bool { process.map { $0.isConnected && !$0.isFrozen } ?? false }

    /// The wakes that are wanted.
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

    // MARK: - Sums

    /// So many seconds pass in which nothing changes and the machine does not sleep.
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

    /// Whether the service ended it because it went wrong.
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
