import Apps
import Foundation
import NightshiftAPI
import Store

/// A machine with its own clock and a record of its actions.
struct TestApp {
    static let id = AppID(rawValue: "org.example.app")

    var machine: AppMachine
    var now = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_800_000_000)
    /// The actions of the last input, without journal entries.
    private(set) var taken: [AppAction] = []
    /// The actions of all inputs.
    private(set) var all: [AppAction] = []
    /// Commands that are not acknowledged.
    private(set) var commands: [ProcessCommand] = []
    private var lastProcess: Int32 = 1_000

    init(isInstalled: Bool = true, wakeLimit: Double = 30) {
        machine = AppMachine(
            record: AppRecord(id: Self.id, now: 1_800_000_000), isInstalled: isInstalled, wakeLimit: wakeLimit,
            firstNumber: 1)
        machine.modes = Set(BackgroundMode.allCases)
    }

    var state: AppState { machine.record.state }

    mutating func feed(_ input: (inout AppMachine, ClockReading) -> [AppAction]) {
        let actions = input(&machine, now)
        all += actions
        taken = actions.filter { if case .note = $0 { false } else { true } }
        for case .send(let command) in actions where !commands.contains(command) { commands.append(command) }
    }

    mutating func setWantedWakes(_ wakes: [WantedWake]) { feed { $0.setWantedWakes(wakes, now: $1) } }

    mutating func spawned() {
        lastProcess += 1
        let process = StoredProcess(processID: lastProcess, startTime: 7, bootID: "boot", isManaged: true)
        feed { $0.spawned(process, now: $1) }
    }

    mutating func connected(managed: Bool = true) {
        let process = StoredProcess(processID: lastProcess, startTime: 7, bootID: "boot", isManaged: managed)
        feed { $0.connected(process, now: $1) }
    }

    mutating func acknowledge(_ result: RefreshResult = .newData, _ isMeant: (ProcessCommand) -> Bool) {
        let meant = commands.filter(isMeant)
        commands.removeAll(where: isMeant)
        var taken: [AppAction] = []
        for command in meant {
            feed { $0.acknowledged(command.number, result: result, now: $1) }
            taken += self.taken
        }
        self.taken = taken
    }

    /// Acknowledges the pending commands, but not commands that follow from these acknowledgements.
    mutating func acknowledgeAll() { acknowledge { _ in true } }

    mutating func exited(_ cause: ExitCause, status: Int32? = nil, signal: Int32? = nil) {
        commands = []
        let time = Date(timeIntervalSince1970: now.wallSeconds)
        let exit = AppExit(time: time, cause: cause, status: status, signal: signal)
        feed { $0.exited(exit, now: $1) }
    }

    mutating func pass(_ seconds: Double) {
        now.bootSeconds += seconds
        now.awakeSeconds += seconds
        now.wallSeconds += seconds
        feed { $0.tick(now: $1) }
    }

    /// Lets the machine sleep, during which its limits do not elapse.
    mutating func sleepMachine(_ seconds: Double) {
        now.bootSeconds += seconds
        now.wallSeconds += seconds
        feed { $0.tick(now: $1) }
    }

    /// Begins a background task. Returns the reason if the task is refused.
    mutating func begin(_ number: Int64, of guest: Int32? = nil) -> BackgroundTaskRefusal? {
        var refusal: BackgroundTaskRefusal?
        feed { machine, now in
            switch machine.beginTask(number, of: guest, name: "task \(number)", now: now) {
            case .success(let actions): return actions
            case .failure(let failure):
                refusal = failure
                return []
            }
        }
        return refusal
    }

    var status: BackgroundStatus { machine.background(now: now) }

    var remaining: Double? { status.remaining.map { ($0 * 1e6).rounded() / 1e6 } }

    /// Returns the details of every journal entry of a kind.
    func notes(_ decision: Decision) -> [String?] {
        all.compactMap { if case .note(decision, let detail, _) = $0 { .some(detail) } else { nil } }
    }

    /// Makes the user leave the app, and the app enter the background.
    mutating func leave() {
        feed { $0.sendToBackground(now: $1) }
        acknowledgeAll()
    }

    mutating func restartService(
        isAlive: Bool, hadBegun: Bool = true, _ phase: DozePhase = .awake, firstNumber: Int64 = 1_000_000
    ) {
        commands = []
        let modes = machine.modes
        machine = AppMachine(
            record: machine.record, isInstalled: machine.isInstalled, wakeLimit: machine.wakeLimit,
            firstNumber: firstNumber)
        machine.modes = modes
        feed { $0.apply(phase, now: $1) + $0.recover(isAlive: isAlive, hadBegun: hadBegun, now: $1) }
    }

    /// Brings the app into the active state, launched by the user.
    mutating func launchedByUser() {
        feed { $0.launch(background: false, arguments: [], now: $1) }
        spawned()
        connected()
        acknowledgeAll()
    }

    /// Brings the app into the suspended state, launched by the user and left.
    mutating func suspended() {
        launchedByUser()
        feed { $0.sendToBackground(now: $1) }
        acknowledgeAll()
        acknowledgeAll()
    }
}
