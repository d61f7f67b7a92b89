import Apps
import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// A machine with random inputs, and a model that checks its actions.
struct AppWalk {
    /// The app's process, derived from the machine's actions only.
    struct Process {
        var number: Int32
        var isManaged: Bool
        var isFrozen = false
        var isConnected = false
        /// Whether the process has connected to a service.
        var links = false
        var isKilled = false
        var isAskedToEnd = false
        /// Whether the process has received SIGTERM for its wakes. It may continue to run if these are dropped.
        var isWarned = false
        /// The commands that the process has not acknowledged.
        var commands: [ProcessCommand] = []
        /// The wakes that the process was launched for or has received, each with its number.
        var wakes: [WantedWake.Identity: Int64] = [:]
        /// The background tasks that the app's process has begun and not ended. `guestTasks` are those of the secondary
        /// process.
        var tasks: Set<Int64> = []
        var guestTasks: Set<Int64> = []
    }

    let seed: UInt64
    let isSteady: Bool
    private static let upheavals: Set = [0, 2, 5, 6, 7, 8, 9, 19, 20, 23]
    private(set) var hasFailed = false
    let modes: Set<BackgroundMode>
    var random: SplitMix64
    var machine: AppMachine
    var now = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1_800_000_000)
    var process: Process?
    /// The contents of the store: the last wake of each kind.
    var rows: [WantedWake.Identity: WantedWake] = [:]
    var woken: [WantedWake.Identity: Int64] = [:]
    /// The numbers of wakes that have ended.
    var over: Set<Int64> = []
    var nextWake: Int64 = 1
    /// The numbers of wakes with a result, by state: under way, received by the app, warned, called off.
    var underWay: Set<Int64> = []
    var told: Set<Int64> = []
    var warned: Set<Int64> = []
    var calledOff: Set<Int64> = []
    /// The command that the app is acknowledging now. `lastEnded` is the last process that has ended.
    var acknowledging: ProcessCommand?
    var result = RefreshResult.newData
    /// Whether the process has just ended with an unknown status.
    private(set) var hasEndedUnseen = false
    private(set) var lastEnded: Process?
    private(set) var lastStatus: Int32?
    private var nextProcess: Int32 = 1
    private var restarts: Int64 = 0
    private var trace: [String] = []
    private var launchesFail = false
    var budget: Budget?
    var hasBackgroundRun = false
    var killedAt: Double?
    /// The current terms of background time, as the service would determine them.
    var terms = BackgroundTerms()
    var phase = DozePhase.awake
    /// Whether the walk is in its last phase, in which everything behaves correctly.
    var isCalm = false

    /// - Parameter isSteady: whether the app keeps running for longer times.
    init(seed: UInt64, isSteady: Bool = false) {
        self.seed = seed
        self.isSteady = isSteady
        random = SplitMix64(seed: seed)
        modes = seed.isMultiple(of: 3) ? [.transfer, .fetch] : Set(BackgroundMode.allCases)
        machine = AppMachine(
            record: AppRecord(id: TestApp.id, now: 1_800_000_000), isInstalled: seed % 7 != 0, wakeLimit: 30,
            firstNumber: 1)
    }

    // MARK: - Inputs

    mutating func step() {
        var choice = Int.random(in: 0..<41, using: &random)
        // A steady walk has fewer restarts, and more inputs that take time.
        if isSteady, Self.upheavals.contains(choice), Int.random(in: 0..<12, using: &random) > 0 {
            choice = Int.random(in: 21..<33, using: &random)
        }
        switch choice {
        case 0: feed("launch") { $0.launch(background: false, arguments: [], now: $1) }
        case 1: feed("launch in the background") { $0.launch(background: true, arguments: [], now: $1) }
        case 2: feed("front") { $0.bringToFront(now: $1) }
        case 3, 4: feed("back") { $0.sendToBackground(now: $1) }
        case 5:
            let state = AppState.allCases.randomElement(using: &random) ?? .active
            feed("changed to \(state)") { $0.changed(to: state, now: $1) }
        case 6: quit(force: Double.random(in: 0..<1, using: &random) < 0.3)
        case 7:
            if process != nil { process?.isAskedToEnd = true }
            feed("kill") { machine, _ in machine.kill() }
        case 8, 9, 10: newWake()
        case 11, 12, 13: connect()
        case 14: disconnect()
        case 15, 16, 17, 18: acknowledge()
        case 19: exit()
        case 20: restartService()
        case 21: pass(Double.random(in: 0..<5, using: &random))
        case 22, 24, 25: passToDeadline()
        case 26, 27, 28: beginTask()
        case 29, 30: endTask()
        case 31: guestLeaves()
        case 32, 33: change(to: DozePhase.allCases.randomElement(using: &random) ?? .awake)
        case 34: changePolicy()
        case 35, 36: callOff()
        case 37: machineSleeps(Double.random(in: 0..<1_000, using: &random))
        case 38: showWindow(inFront: true)
        case 39: showWindow(inFront: false)
        default: launchesFail = Double.random(in: 0..<1, using: &random) < 0.2
        }
    }

    /// Makes everything behave correctly from now on, so that the app receives all its wakes.
    mutating func comeToRest() {
        isCalm = true
        launchesFail = false
        guard machine.isInstalled else { return }
        change(to: .awake)
        for _ in 0..<200 where !hasFailed {
            while process?.tasks.isEmpty == false || process?.guestTasks.isEmpty == false { endTask() }
            if let killed = process, killed.isKilled || killed.isAskedToEnd { exit() }
            // The process cannot receive anything, so the user ends it at some point.
            if let process, process.isFrozen, !process.links { exit() }
            if process != nil, process?.isConnected == false { connect() }
            if process?.commands.isEmpty == false { acknowledge() } else { passToDeadline() }
        }
        guard !machine.record.isForceQuit, process?.isManaged ?? true else { return }
        let isInFront = machine.record.state == .active || machine.record.state == .inactive
        if !isInFront, let lost = news([:]) {
            fail("The app was never woken for \(lost), though everybody behaves.")
        }
    }

    /// Reports which window has the focus. The report counts only if the app does not report its own state, and it
    /// never launches the app.
    private mutating func showWindow(inFront: Bool) {
        let before = machine.record
        feed("a window \(inFront ? "in front" : "left")") { $0.desktopShows(inFront: inFront, now: $1) }
        if before.process == nil || before.processState?.windows?.areToldByApp == true, machine.record != before {
            fail("It follows a window that is none of its business.")
        }
    }

    private mutating func quit(force: Bool) {
        if process != nil { process?.isAskedToEnd = true }
        feed(force ? "force quit" : "quit") { $0.quit(force: force, now: $1) }
    }

    private mutating func connect() {
        if process == nil {
            guard !isCalm else { return }
            nextProcess += 1
            process = Process(number: nextProcess, isManaged: false)
        }
        guard var connecting = process, !connecting.isFrozen else { return }
        connecting.isConnected = true
        connecting.links = true
        process = connecting
        let stored = StoredProcess(
            processID: connecting.number, startTime: 7, bootID: "boot", isManaged: connecting.isManaged)
        feed("connected") { $0.connected(stored, now: $1) }
        // The library, too, first reports its tasks.
        for number in process?.tasks.sorted() ?? [] { begin(number, of: nil) }
    }

    private mutating func disconnect() {
        guard process?.isConnected == true else { return }
        process?.isConnected = false
        feed("disconnected") { machine, _ in
            machine.disconnected()
            return []
        }
    }

    private mutating func acknowledge() {
        guard let process, !process.isFrozen, let command = process.commands.randomElement(using: &random) else {
            return feed("a foreign acknowledgement") { $0.acknowledged(-1, now: $1) }
        }
        self.process?.commands.removeAll { $0 == command }
        // The app may acknowledge a wake late that was called off and dropped, when the next wake is already under way.
        if let identity = command.wake, process.wakes[identity] == command.through {
            self.process?.wakes[identity] = nil
        }
        result = RefreshResult.allCases.randomElement(using: &random) ?? .newData
        if command.action == .expire, isCalm || Double.random(in: 0..<1, using: &random) < 0.7 {
            for number in process.tasks.sorted() { end(number, of: nil) }
        }
        guard self.process != nil else { return }
        acknowledging = command
        feed("acknowledged \(command.action) \(command.session ?? command.source?.rawValue ?? "")") { [result] in
            $0.acknowledged(command.number, result: result, now: $1)
        }
        acknowledging = nil
    }

    private mutating func exit() {
        guard let ended = process else { return }
        process = nil
        var exit = AppExit(time: now.date, cause: .exited)
        if ended.isKilled {
            exit.cause = .signalled
        } else if ended.isWarned, Bool.random(using: &random) {
            (exit.cause, exit.signal) = (.signalled, 15)
        } else if !ended.links, !ended.isManaged {
            exit.cause = .unseen
        } else {
            let statuses: [Int32] = isCalm ? [0] : [0, 0, RefreshResult.noDataStatus, 1]
            exit.status = statuses.randomElement(using: &random)
            if exit.status != 0 { exit.cause = .failed }
        }
        lastStatus = exit.status
        let (toldAt, killedAt) = (budget?.toldAt, killedAt)
        self.killedAt = nil
        lastEnded = ended
        hasEndedUnseen = exit.cause == .unseen
        feed("exited") { $0.exited(exit, now: $1) }
        hasEndedUnseen = false
        if machine.record.lastExit?.cause == .backgroundTimeout, !ended.links {
            fail("It was ended for not answering, and nobody could ask it.")
        }
        if machine.record.lastExit?.cause == .taskOverdue { checkEnd(toldAt: toldAt, killedAt: killedAt) }
        if let left = process, left.number == ended.number { fail("A process that has ended is still there.") }
    }

    private mutating func restartService() {
        restarts += 1
        let isAlive = process != nil && Bool.random(using: &random)
        if !isAlive { process = nil }
        // The guardian thaws everything when the service dies.
        process?.isFrozen = false
        process?.isConnected = false
        // The process gets unacknowledged commands again when it connects.
        process?.commands.removeAll { $0.action == .enter || $0.action == .snapshot }
        // The secondary process reports its tasks again only when it has connected.
        process?.guestTasks = []
        // A process that has not died yet is killed again.
        process?.isKilled = false
        let record = machine.record
        machine = AppMachine(
            record: record, isInstalled: machine.isInstalled, wakeLimit: 30,
            // Otherwise the wall clock was set back.
            firstNumber: Bool.random(using: &random) ? restarts * 1_000_000 : 1)
        // The paused time continues together with the process.
        if budget?.from == nil { budget?.from = now.awakeSeconds }
        killedAt = nil
        let (wanted, phase) = (wanted, phase)
        hasEndedUnseen = !isAlive
        defer { hasEndedUnseen = false }
        feed("a new service, the process \(isAlive ? "lives" : "is gone")") {
            $0.apply(phase, now: $1) + $0.recover(isAlive: isAlive, now: $1) + $0.setWantedWakes(wanted, now: $1)
        }
    }

    mutating func pass(_ seconds: Double) {
        now.bootSeconds += seconds
        now.awakeSeconds += seconds
        now.wallSeconds += seconds
        guard machine.nextDeadline ?? .infinity <= now.awakeSeconds else { return }
        feed("time") { $0.tick(now: $1) }
        if let next = machine.nextDeadline, next <= now.awakeSeconds {
            fail("After its deadline it has another one that is past already: the service would spin.")
        }
    }

    private mutating func passToDeadline() {
        guard let next = machine.nextDeadline else { return }
        // This passes a little more time, because a pause is stated in wall time and elapses in boot time.
        pass(max(0, next - now.awakeSeconds) + 0.001)
    }

    // MARK: - Rules

    mutating func feed(_ what: String, _ input: (inout AppMachine, ClockReading) -> [AppAction]) {
        guard !hasFailed else { return }
        machine.terms = terms
        machine.modes = modes
        var actions = input(&machine, now)
        let state = "\(machine.record.state)\(machine.isManaged ? " managed" : "")"
        trace.append("\(now.bootSeconds) \(what) -> \(state) \(actions.filter(\.isDeed))")
        while !actions.isEmpty, !hasFailed {
            let action = actions.removeFirst()
            if case .spawn(let background, let wakes, _) = action {
                actions += spawn(background: background, wakes)
            } else {
                execute(action)
            }
        }
        if !hasFailed { check() }
    }

    private mutating func spawn(background: Bool, _ wakes: [WantedWake]) -> [AppAction] {
        if process != nil { fail("It launches a second process.") }
        if background, machine.record.isForceQuit, !wakes.isEmpty { fail("It wakes who was force-quit.") }
        if !background, !wakes.allSatisfy(isForFront) { fail("It wakes the app in the foreground.") }
        for wake in wakes { checkLaunch(for: wake) }
        nextProcess += 1
        guard !launchesFail else { return machine.spawnFailed("No such program.", now: now) }
        process = Process(number: nextProcess, isManaged: true)
        for wake in wakes where background { process?.wakes[wake.identity] = wake.through }
        return machine.spawned(
            StoredProcess(processID: nextProcess, startTime: 7, bootID: "boot", isManaged: true), now: now)
    }

    private mutating func execute(_ action: AppAction) {
        switch action {
        case .spawn, .cancelTransfers, .cameToFront: break
        case .note(let decision, _, let inputs): apply(decision, inputs)
        case .tellGuest(let guest, let command):
            if guest != Self.guest || command.action != .expire { fail("It tells \(guest) to \(command.action).") }
        case .send(let command):
            guard let process, process.isConnected, !process.isFrozen else { return fail("It sends to nobody.") }
            if !process.commands.contains(command) {
                self.process?.commands.append(command)
                checkTelling(command)
                checkWarning(command)
            }
            if let identity = command.wake { self.process?.wakes[identity] = command.through }
            if command.action == .terminate { self.process?.isAskedToEnd = true }
        case .freeze:
            guard let process, !process.isFrozen else { return fail("It freezes what does not run.") }
            if !process.isManaged { fail("It freezes a process that the service has not launched.") }
            self.process?.isFrozen = true
            budget?.stop(now)
        case .thaw:
            guard let process, process.isFrozen else { return fail("It thaws what is not frozen.") }
            self.process?.isFrozen = false
            budget?.resume(now)
        case .terminate, .kill:
            guard process != nil else { return fail("It ends what is not there.") }
            guard action == .kill || machine.record.processState?.ending != nil else {
                if process?.isWarned == true { fail("It is asked with SIGTERM again.") }
                self.process?.isWarned = true
                return
            }
            self.process?.isAskedToEnd = true
            if action == .kill {
                self.process?.isKilled = true
                checkKill()
                killedAt = now.awakeSeconds
            }
        case .finishWake(let wake, let outcome): checkEnd(of: wake, outcome)
        }
    }

    private mutating func check() {
        checkUnderWay()
        let state = machine.record.state
        guard let process else {
            if state != .notRunning { fail("It is \(state) without a process.") }
            if machine.record.process != nil { fail("It remembers a process that is gone.") }
            return checkAbsent()
        }
        if state == .notRunning { fail("It is not running, and has a process.") }
        let standsStill = machine.background(now: now).standsStill
        if (state == .suspended || standsStill) != process.isFrozen {
            fail("It is \(state), and frozen: \(process.isFrozen).")
        }
        checkBackgroundTime(process, standsStill)
        if process.isFrozen {
            if !process.wakes.isEmpty { fail("It is frozen with unfinished wakes \(process.wakes).") }
            // Only snapshots and expiration commands may stay unacknowledged.
            if process.commands.contains(where: { !$0.mayStayOpen && !over.contains($0.through ?? 0) }) {
                fail("It is frozen with unacknowledged commands.")
            }
        }
        if process.isAskedToEnd, !process.isKilled, machine.nextDeadline == nil {
            fail("Its end was asked for, and nothing will make it end.")
        }
        checkPresent(process, state)
        checkTold(process, state)
    }

    private mutating func checkAbsent() {
        guard machine.isInstalled, !machine.record.isForceQuit, news([:]) != nil else { return }
        guard machine.nextDeadline == nil else { return }
        fail("There is something to wake it for, and nothing will.")
    }

    private mutating func checkPresent(_ process: Process, _ state: AppState) {
        guard process.isManaged, !process.isAskedToEnd, state == .background || state == .suspended else { return }
        if state == .background, machine.nextDeadline == nil, !process.isFrozen, !isContinuing {
            fail("It is awake in the background without a limit.")
        }
        // A process without the library cannot receive anything before it ends.
        guard process.links, !machine.record.isForceQuit, !isContinuing, news(process.wakes) != nil,
            machine.nextDeadline == nil
        else { return }
        fail("There is something to wake it for, and nothing will.")
    }

    mutating func fail(_ comment: String) {
        guard !hasFailed else { return }
        hasFailed = true
        Issue.record("seed \(seed): \(comment)\n\(trace.suffix(12).joined(separator: "\n"))")
    }
}

extension ProcessCommand {
    /// Whether an app may be suspended that has not acknowledged this command.
    fileprivate var mayStayOpen: Bool { action == .snapshot || action == .expire || action == .expireWake }
}

extension AppAction {
    fileprivate var isDeed: Bool { if case .note = self { false } else { true } }
}
