import Device
import NightshiftAPI
import Runtime
import Scheduler
import Store

/// The decided state of the device, and the user's settings for the device.
struct CoordinatorState: PartState {
    private(set) var machine: DeviceStateMachine
    /// The report of the device at the latest decision.
    var report: DeviceReport
    /// The user's settings; nil if the user has set none, or if the stored ones cannot be read.
    private(set) var stored: DeviceSettings?
    /// The reason why the stored settings cannot be read. The defaults apply until the user sets new values.
    private(set) var unreadable: String?
    private var journal = Outbox<JournalEntry>()
    private var effects: [Effect] = []
    private var announcements = 0

    enum Effect: Sendable {
        /// Announces the device state to the other parts. A higher number means a later state.
        case announce(number: Int, DeviceState)
        /// Keeps the device awake for these reasons. Nil ends this.
        case holdAwake(String?)
        /// Reads the device again. The time is that of the request.
        case readConditions(since: Double)
    }

    /// The changes that one transaction writes. The state of doze is written with each journal entry.
    struct Changes: StateChanges {
        var settings: DeviceSettings?
        var entries: [JournalEntry]
        var doze: DozeMachine.State

        var isEmpty: Bool { settings == nil && entries.isEmpty }

        func write(
            in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
        ) throws {
            if let settings { try each { try transaction.put(settings) } }
            guard !entries.isEmpty else { return }
            for entry in entries { try each { try transaction.record(entry) } }
            try each { try transaction.put(doze: StoredDoze(doze, now: reading)) }
        }
    }

    init(
        machine: DeviceStateMachine, report: DeviceReport, stored: DeviceSettings? = nil, unreadable: String? = nil
    ) {
        self.machine = machine
        self.report = report
        self.stored = stored
        self.unreadable = unreadable
    }

    var settings: DeviceSettings { stored ?? DeviceSettings() }

    var nextDecision: DecisionTime? { machine.nextDeadline.map { .bootSeconds($0) } }

    mutating func decide(at now: ClockReading) {}

    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    func changes(since durable: CoordinatorState) -> Changes {
        Changes(
            settings: stored == durable.stored ? nil : stored, entries: journal.rows, doze: machine.doze.state)
    }

    mutating func wrote(_ copy: CoordinatorState) { journal.wrote(copy.journal) }

    // MARK: - Inputs

    /// Adds journal entries about stored data that cannot be read.
    mutating func note(unreadable details: [String], now: ClockReading) {
        for detail in details { journal.note(JournalEntry(time: now.date, decision: .unreadable, detail: detail)) }
    }

    mutating func change(_ change: DeviceChange, now: ClockReading) {
        if unreadable != nil {
            note(
                unreadable: [
                    "The device settings were replaced. The old ones remain in the database: device.replaced_settings."
                ], now: now)
        }
        stored = settings.changed(by: change)
        unreadable = nil
    }

    /// Gives the machine an input, and keeps its actions.
    ///
    /// - Parameter latest: the report of the device, if the input contains its conditions. It becomes the report of the
    ///   latest decision if the machine decides anything.
    mutating func decide(
        _ latest: DeviceReport? = nil, _ input: (inout DeviceStateMachine) -> [DeviceStateMachine.Action]
    ) {
        let before = machine.conditions
        let actions = input(&machine)
        if let latest, !actions.isEmpty || machine.conditions != before { report = latest }
        for action in actions {
            switch action {
            case .record(let entries): for entry in entries { journal.note(entry) }
            case .announce:
                announcements += 1
                effects.append(.announce(number: announcements, machine.moment))
            case .holdAwake(let reason): effects.append(.holdAwake(reason))
            case .readConditions(let time): effects.append(.readConditions(since: time))
            }
        }
    }
}

/// The state of doze, with the clock reading to which its times are relative.
struct StoredDoze: Codable {
    var doze: DozeMachine.State
    var bootID: String
    var bootSeconds: Double
    var wallSeconds: Double

    init(_ doze: DozeMachine.State, now: ClockReading) {
        self.doze = doze
        bootID = now.bootID
        bootSeconds = now.bootSeconds
        wallSeconds = now.wallSeconds
    }

    func state(now: ClockReading) -> DozeMachine.State {
        let then = ClockReading(bootID: bootID, bootSeconds: bootSeconds, wallSeconds: wallSeconds)
        return DozeMachine.moved(doze, by: now.shift(from: then))
    }
}
