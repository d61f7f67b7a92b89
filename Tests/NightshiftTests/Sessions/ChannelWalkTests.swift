import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of random lives of channels. They check rules that hold for all orders of callers, failures and events
/// (row T8).
@Suite struct ChannelWalkTests {
    @Test(.timeLimit(.minutes(20)))
    func `T8: In random walks the channel always opens again, and each caller continues once`() async {
        for seed in 0..<2_000 as Range<UInt64> {
            var walk = ChannelWalk(seed: seed)
            for _ in 0..<40 + Int(seed % 5) * 40 { walk.step() }
            walk.finish()
            await Task.yield()
        }
    }
}

/// A random life of one channel. It contains the machine, a model of the service, and an executor that executes the
/// machine's actions late and in any order.
private struct ChannelWalk {
    enum Pending: Equatable {
        case action(ChannelAction)
        /// An attempt that is looking for the service.
        case connecting(Int)
        case end(Int)
    }

    private var random: SplitMix64
    private let seed: UInt64
    private var machine = ChannelMachine()
    private var pending: [Pending] = []
    private var isRunning: Bool
    /// Whether the user has stopped the service. Only the app's next request may start it.
    private var isStopped = false
    /// Whether the service has announced its stop, and the app has made no request since then.
    private var isAnnounced = false
    /// The streams that have not ended, by their attempts.
    private var streams: [Int: ProcessHello?] = [:]
    private var greetings = 0
    /// The callers that wait. The value is whether the caller fails fast.
    private var waiting: [Int: Bool] = [:]
    private var resumed: Set<Int> = []
    /// The openings and answers of channels that the parts of the library have to be notified of.
    private var owedReports = 0
    /// Whether a trouble was reported since the channel was last open.
    private var hasReported = false
    private var hasFailed = false

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed)
        isRunning = Bool.random(using: &random)
    }

    private mutating func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    /// Records the first failure of the walk.
    private mutating func fail(_ words: String) {
        if !hasFailed { Issue.record("\(words), seed \(seed)") }
        hasFailed = true
    }

    // MARK: - Inputs

    private mutating func apply(_ input: (inout ChannelMachine) -> [ChannelAction]) {
        let before = machine
        perform(input(&machine), from: before)
    }

    private mutating func perform(_ actions: [ChannelAction], from before: ChannelMachine) {
        if !isLegal(before.phase, machine.phase) { fail("\(before.phase) became \(machine.phase)") }
        for action in actions {
            switch action {
            case .resume(let numbers):
                for number in numbers where !resumed.insert(number).inserted { fail("a caller continues twice") }
            case .report:
                if hasReported { fail("the service's absence is reported twice") }
                if machine.wasStopped { fail("the absence of a stopped service is reported") }
                hasReported = true
            case .reportReconnect: owedReports -= 1
            case .connect, .check, .stopReading: break
            }
            pending.append(.action(action))
        }
        check()
    }

    private func isLegal(_ old: ChannelMachine.Phase, _ new: ChannelMachine.Phase) -> Bool {
        switch (old, new) {
        case (.closed, let new): new == .closed
        case (_, .closed), (.unused, .unused), (.unused, .opening), (.opening, .opening), (.opening, .reading): true
        case (.reading, .reading), (.reading, .greeted), (.reading, .opening): true
        case (.greeted(let old), .greeted(let new)), (.greeted(let old), .open(let new, isDoubted: false)): old == new
        case (.greeted(let old), .dropped(let name)), (.open(let old, _), .dropped(let name)): old.channel == name
        case (.open(let old, _), .open(let new, _)): old == new
        case (.open, .opening), (.dropped, .opening): true
        case (.dropped(let old), .dropped(let new)): old == new
        default: false
        }
    }

    private mutating func check() {
        if machine.wasStopped != isAnnounced { fail("the record of the service's stop is wrong") }
        let attempts = pending.count { item in
            switch item {
            case .action(.connect(let attempt, _)), .connecting(let attempt): machine.isDue(attempt)
            default: false
            }
        }
        if attempts != (machine.phase == .opening ? 1 : 0) { fail("\(attempts) attempts are due") }
        let checks = pending.count { item in
            if case .action(.check(let hello)) = item { return machine.isOpen(hello) }
            return false
        }
        var isDoubted = false
        if case .open(_, isDoubted: true) = machine.phase { isDoubted = true }
        if checks != (isDoubted ? 1 : 0) { fail("\(checks) checks are scheduled") }
        for (number, failsFast) in waiting where !resumed.contains(number) {
            if machine.hello != nil { fail("a caller waits for an open channel") }
            if machine.phase == .closed { fail("a caller waits for a closed channel") }
            if failsFast && machine.isUnreachable { fail("a caller waits for a service that cannot be reached") }
        }
        if machine.phase == .unused, !waiting.isEmpty { fail("nothing opens the channel") }
    }

    mutating func step() {
        switch Int.random(in: 0..<24, using: &random) {
        case 0..<4: call()
        case 4: if let number = waiting.keys.sorted().randomElement(using: &random) { stopWaiting(number) }
        case 5: wake()
        case 6: if let hello = machine.hello { drop(hello) }
        case 7: if let hello = machine.hello { apply { $0.doubt(hello) } }
        case 8: crash()
        case 9: if isRunning, chance(1, of: 2) { stop() }
        case 10: (isRunning, isStopped) = (true, false)
        case 11: if chance(1, of: 30) { apply { $0.close() } }
        case 12..<14: greet()
        case 14..<16: open()
        default: executeAny()
        }
    }

    private mutating func call() {
        let failsFast = chance(1, of: 2)
        let before = machine
        let (access, actions) = machine.requestAccess(failsFast: failsFast)
        if case .waiting(let number) = access { waiting[number] = failsFast }
        switch access {
        case .open(let hello): if machine.hello != hello { fail("a caller gets a channel that is not open") }
        case .closed: if machine.phase != .closed { fail("a caller is refused") }
        case .unreachable: if !failsFast || !machine.isUnreachable { fail("a caller does not wait") }
        case .waiting: break
        }
        perform(actions, from: before)
    }

    private mutating func stopWaiting(_ number: Int) {
        guard !resumed.contains(number) else { return }
        waiting[number] = nil
        machine.stopWaiting(number)
        // A caller that has stopped waiting must not be resumed.
        resumed.insert(number)
    }

    private mutating func wake() {
        isStopped = false
        if isAnnounced { hasReported = false }
        isAnnounced = false
        apply { $0.wake() }
    }

    private mutating func drop(_ hello: ProcessHello) {
        apply { $0.drop(hello) }
        if machine.hello != nil { fail("a dropped channel is open") }
    }

    private mutating func crash() {
        isRunning = false
        for attempt in streams.keys.sorted() { end(attempt) }
    }

    private mutating func stop() {
        (isStopped, isRunning) = (true, false)
        if !streams.isEmpty, !isReporting {
            machine.stopping()
            isAnnounced = true
        }
        for attempt in streams.keys.sorted() { end(attempt) }
    }

    private mutating func end(_ attempt: Int) {
        streams[attempt] = nil
        pending.append(.end(attempt))
    }

    private mutating func greet() {
        guard let attempt = streams.keys.max(), case .some(nil) = streams[attempt], machine.phase == .reading else {
            return
        }
        greetings += 1
        var hello = ProcessHello(app: AppID(rawValue: "/app"), isInstalled: false, isManaged: false, state: .active)
        hello.channel = "\(greetings)"
        streams[attempt] = .some(hello)
        machine.greeted(hello)
        check()
    }

    /// Whether the background tasks are being reported. The queue handles no event of the stream meanwhile.
    private var isReporting: Bool {
        if case .greeted = machine.phase { return true }
        return false
    }

    /// Ends the report of the background tasks.
    private mutating func open() {
        guard case .greeted(let hello) = machine.phase else { return }
        guard chance(5, of: 6) else { return drop(hello) }
        owedReports += 1
        (hasReported, isAnnounced) = (false, false)
        apply { $0.opened() }
        if machine.hello != hello || owedReports != 0 { fail("the channel does not open") }
        if machine.isUnreachable { fail("the service of an open channel cannot be reached") }
    }

    // MARK: - Executing

    private mutating func executeAny() {
        guard let index = pending.indices.randomElement(using: &random) else { return }
        execute(pending.remove(at: index))
    }

    private mutating func execute(_ item: Pending) {
        switch item {
        case .action(.connect(let attempt, _)): if machine.isDue(attempt) { pending.append(.connecting(attempt)) }
        case .connecting(let attempt): connect(attempt)
        case .action(.stopReading(let attempt)): if streams.keys.contains(attempt) { end(attempt) }
        case .action(.resume(let numbers)): for number in numbers { waiting[number] = nil }
        case .action(.check(let hello)):
            guard machine.isOpen(hello) else { return }
            guard isRunning else { return pending.append(item) }
            owedReports += 1
            apply { $0.answered(hello) }
            if owedReports != 0 { fail("an answer is not reported") }
        case .end where isReporting: pending.append(item)
        case .end(let attempt):
            let before = machine
            apply { $0.ended(attempt, trouble: "The stream ended.") }
            if before.channel != nil, machine.isUnreachable != before.isUnreachable {
                fail("the end of an open channel counts as a failure")
            }
        case .action(.report), .action(.reportReconnect): break
        }
    }

    private mutating func connect(_ attempt: Int) {
        // The library starts the service, unless the service was stopped.
        if !machine.wasStopped, machine.isDue(attempt) {
            if isStopped { isStopped = false }
            isRunning = isRunning || chance(1, of: 2)
        }
        guard isRunning else { return apply { $0.ended(attempt, trouble: "The service is away.") } }
        let before = machine
        guard machine.connected(attempt) else { return }
        if !streams.isEmpty { fail("two streams are open") }
        streams[attempt] = .some(nil)
        perform([], from: before)
    }

    /// Runs until the channel is open: the service works from now on.
    mutating func finish() {
        guard machine.phase != .closed else { return checkCallers() }
        wake()
        call()
        var steps = 0
        while machine.hello == nil || !pending.isEmpty || !waiting.isEmpty {
            steps += 1
            guard steps < 5_000 else { return fail("the channel does not open: \(machine), \(pending)") }
            isRunning = true
            greet()
            open()
            executeAny()
        }
        checkCallers()
    }

    private mutating func checkCallers() {
        if !resumed.isSuperset(of: waiting.keys) { fail("callers wait for ever") }
    }
}
