package import NightshiftAPI

/// Decides what moment it is for everybody: follows the device, dozes, and holds the device awake for those who may.
///
/// Pure: what the device says and what apps and transfers make of it go in; what to write down, whom to tell and what to hold
/// come out. ``MomentChange`` says what a moment that was told means for transfers. Times are boot seconds.
package struct MomentMachine: Sendable {
    /// Whether background work runs.
    package private(set) var doze: DozeMachine
    /// The device's conditions at the last decision.
    package private(set) var conditions: DeviceConditions
    /// The holders that were last found to keep the device awake.
    package private(set) var holders: [AwakeHolder] = []
    /// The time since which a reading is due that has been asked for.
    private var requestedReading: Double?

    package enum Action: Hashable, Sendable {
        /// The entries are written to the journal, in one transaction with the state of doze.
        case record([JournalEntry])
        /// The moment is announced to apps and transfers, once the decision is on disk.
        case announce
        /// The device is held awake for these reasons, or let go.
        case holdAwake(String?)
        /// The device is asked for its conditions, and ``refreshed(_:askedAt:now:)`` is given the answer with this time.
        case readConditions(since: Double)
    }

    /// The activity of apps and transfers, as far as it matters to the moment.
    package struct Activity: Hashable, Sendable {
        /// Apps that hold the device awake, by their ids.
        package var holders: [AwakeHolder] = []
        /// Apps that are being woken, or handle what they were woken for.
        package var wakes = 0
        /// Apps in the background with work that runs, or waits for a window.
        package var working = 0
        /// Whether a transfer that waits for a good moment runs, or would in a window.
        package var transfersWork = false

        package init() {}
    }

    /// - Parameter doze: where doze was when that was last written down.
    package init(doze: DozeMachine.State, conditions: DeviceConditions = DeviceConditions()) {
        self.doze = DozeMachine(state: doze)
        self.conditions = conditions
    }

    /// Free space changes with every byte: what the device says of it is no change of the moment.
    package static let journalled = DeviceKey.conditions.filter { $0 != .freeBytes }

    // MARK: - Inputs

    /// The service begins, and this is how it finds the device.
    package mutating func begin(_ conditions: DeviceConditions, now: ClockReading) -> [Action] {
        self.conditions = conditions
        let entry = JournalEntry(
            time: now.date, decision: .deviceChanged, detail: "The service begins with this.",
            inputs: conditions.inputs(Self.journalled))
        return actions(doze.changed(to: conditions, now: now), [entry], tells: true, now)
    }

    /// The device says something else.
    ///
    /// - Returns: nothing where no condition is another one that is journalled and the machine has not slept; ``conditions``
    ///   stay as they were then.
    package mutating func changed(to new: DeviceConditions, now: ClockReading) -> [Action] {
        let old = conditions
        let keys = new.differences(from: old).filter { Self.journalled.contains($0) }
        let woke = new.woke(since: old)
        guard !keys.isEmpty || woke else { return [] }
        conditions = new
        var entries: [JournalEntry] = []
        if !keys.isEmpty {
            let words = keys.map { "\($0.rawValue): \(old[$0]) → \(new[$0])" }.joined(separator: ", ")
            entries.append(
                JournalEntry(time: now.date, decision: .deviceChanged, detail: words, inputs: new.inputs(keys)))
        }
        if !old.isSleeping, new.isSleeping || woke {
            entries.append(JournalEntry(time: now.date, decision: .deviceSlept))
        }
        if woke { entries.append(JournalEntry(time: now.date, decision: .deviceWoke)) }
        return actions(doze.changed(to: new, now: now), entries, tells: true, now)
    }

    /// The device has answered the question of ``Action/readConditions(since:)``.
    package mutating func refreshed(
        _ conditions: DeviceConditions, askedAt time: Double, now: ClockReading
    ) -> [Action] {
        let news = changed(to: conditions, now: now)
        if requestedReading == time { requestedReading = nil }
        return news + actions(doze.confirmed(asOf: time, now: now), [], tells: false, now)
    }

    /// Apps or transfers make something else of the device.
    package mutating func changed(_ activity: Activity, now: ClockReading) -> [Action] {
        let before = holders
        holders = activity.holders
        var entries: [JournalEntry] = []
        if holders != before {
            let who = holders.isEmpty ? before : holders
            entries.append(
                JournalEntry(
                    time: now.date, decision: holders.isEmpty ? .deviceReleased : .deviceHeldAwake,
                    detail: who.sentence, inputs: ["apps": who.map(\.app.rawValue).joined(separator: " ")]))
        }
        let changes = doze.changed(
            held: !holders.isEmpty, busy: activity.working > 0 || activity.transfersWork, wakes: activity.wakes > 0,
            now: now)
        let decided = actions(changes, entries, tells: false, now)
        return holders == before ? decided : decided + [.holdAwake(holders.sentence)]
    }

    /// Somebody asks for a phase now.
    package mutating func request(
        _ phase: DozePhase, now: ClockReading
    ) -> Result<[Action], DozeMachine.Refusal> {
        switch doze.request(phase, now: now) {
        case .success(let changes): .success(actions(changes, [], tells: false, now))
        case .failure(let refusal): .failure(refusal)
        }
    }

    /// Time has passed.
    package mutating func tick(now: ClockReading) -> [Action] {
        actions(doze.tick(now: now), [], tells: false, now)
    }

    // MARK: - What it says

    package var moment: DeviceMoment { DeviceMoment(conditions: conditions, phase: doze.phase) }

    /// Boot seconds at which ``tick(now:)`` has something to do.
    package var nextDeadline: Double? { doze.nextDeadline }

    // MARK: - Words

    private mutating func actions(
        _ changes: [DozeMachine.Change], _ entries: [JournalEntry], tells: Bool, _ now: ClockReading
    ) -> [Action] {
        let inputs = [
            DeviceKey.power.rawValue: conditions[.power], DeviceKey.idle.rawValue: conditions[.idle],
            "held": holders.isEmpty ? "no" : "yes",
        ]
        let all =
            entries
            + changes.map {
                JournalEntry(time: now.date, decision: $0.decision, detail: $0.sentence, inputs: inputs)
            }
        var actions: [Action] = all.isEmpty ? [] : [.record(all)]
        if tells || !changes.isEmpty { actions.append(.announce) }
        if let due = doze.readingDue, due != requestedReading {
            requestedReading = due
            actions.append(.readConditions(since: due))
        }
        return actions
    }
}

extension [AwakeHolder] {
    /// A sentence about the holders that keep the device awake; nil where there are none.
    fileprivate var sentence: String? {
        guard !isEmpty else { return nil }
        return map { "\($0.app): \($0.tasks.joined(separator: ", "))" }.joined(separator: "; ")
    }
}
