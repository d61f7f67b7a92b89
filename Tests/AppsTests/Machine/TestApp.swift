import Apps
import Foundation
import NightshiftAPI
import Store

/// A machine with a clock of its own, and the memory of what it wanted done.
struct TestApp {
    static let id = AppID(rawValue: "org.example.app")

    var machine: AppMachine
    var now = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_800_000_000)
    /// What the last input brought, without notes.
    private(set) var taken: [AppAction] = []
    /// What every input brought.
    private(set) var all: [AppAction] = []
    /// Commands that are not acknowledged.
    private(set) var commands: [ProcessCommand] = []
    private var lastProcess: Int32 = 1_000

    init(isInstalled: Bool = true, wakeLimit: Double = 30) {
        machine = AppMachine(
            record: AppRecord(id: Self.id, now: 1_800_000_000), isInstalled: isInstalled, wakeLimit: wakeLimit,
            firstNumber: 1)
    }

    var state: AppState { machine.record.state }

    mutating func feed(_ input: (inout AppMachine, ClockReading) -> [AppAction]) {
        let actions = input(&machine, now)
        all += actions
        taken = actions.filter { if case .note = $0 { false } else { true } }
        for case .send(let command) in actions where !commands.contains(command) { commands.append(command) }
    }

    mutating func want(_ wakes: [WantedWake]) { feed { $0.want(wakes, now: $1) } }

    mutating func spawned() {
        lastProcess += 1
        let process = StoredProcess(processID: lastProcess, startTime: 7, bootID: "boot", isManaged: true)
        feed { $0.spawned(process, now: $1) }
    }

    mutating func connected(managed: Bool = true) {
        let process = StoredProcess(processID: lastProcess, startTime: 7, bootID: "boot", isManaged: managed)
        feed { $0.connected(process, now: $1) }
    }

    mutating func acknowledge(_ isMeant: (ProcessCommand) -> Bool) {
        let meant = commands.filter(isMeant)
        commands.removeAll(where: isMeant)
        var taken: [AppAction] = []
        for command in meant {
            feed { $0.acknowledged(command.number, now: $1) }
            taken += self.taken
        }
        self.taken = taken
    }

    /// Those that are there now, not those that follow from it.
    mutating func acknowledgeAll() { acknowledge { _ in true } }

    mutating func exited(_ cause: ExitCause, status: Int32? = nil) {
        commands = []
        let exit = AppExit(time: Date(timeIntervalSince1970: now.wallSeconds), cause: cause, status: status)
        feed { $0.exited(exit, now: $1) }
    }

    mutating func pass(_ seconds: Double) {
        now.bootSeconds += seconds
        now.wallSeconds += seconds
        feed { $0.tick(now: $1) }
    }

    mutating func restartService(isAlive: Bool) {
        commands = []
        machine = AppMachine(
            record: machine.record, isInstalled: machine.isInstalled, wakeLimit: machine.wakeLimit,
            firstNumber: 1_000_000)
        feed { $0.recover(isAlive: isAlive, now: $1) }
    }

    /// Launched by its user, and active.
    mutating func launchedByUser() {
        feed { $0.launch(background: false, arguments: [], now: $1) }
        spawned()
        connected()
        acknowledgeAll()
    }

    /// Launched by its user, and left.
    mutating func suspended() {
        launchedByUser()
        feed { $0.back(now: $1) }
        acknowledgeAll()
        acknowledgeAll()
    }
}
