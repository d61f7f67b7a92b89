package import NightshiftAPI

/// Decides the device state for all parts of the service. The machine follows the conditions of the device, manages
/// doze, and keeps the device awake for apps that may request this.
///
/// This is a pure value: it takes device conditions and the activity of apps and transfers, and returns actions.
/// ``DeviceStateChange`` decides how an announced state affects transfers. Times are boot seconds.
package struct DeviceStateMachine: Sendable {
    /// The state of doze, which decides whether background work runs.
    package private(set) var doze: DozeMachine
    /// The device's conditions at the last decision.
    package private(set) var conditions: DeviceConditions
    /// The apps that kept the device awake at the last update.
    package private(set) var holders: [AwakeHolder] = []
    /// The due time of the reading that has been requested.
    private var requestedReading: Double?

    package enum Action: Hashable, Sendable {
        /// The entries are written to the journal, in one transaction with the state of doze.
        case record([JournalEntry])
        /// The state is announced to apps and transfers, after the decision is on disk.
        case announce
        /// The device is kept awake for these reasons. Nil ends this.
        case holdAwake(String?)
        /// The device's conditions are read, and passed with this time to ``refreshed(_:askedAt:now:)``.
        case readConditions(since: Double)
    }

    /// The activity of apps and transfers that affects the device state.
    package struct Activity: Hashable, Sendable {
        /// The apps that keep the device awake, sorted by id.
        package var holders: [AwakeHolder] = []
        /// The number of apps that are being woken or are handling a wake.
        package var wakes = 0
        /// The number of background apps with work that runs or waits for a maintenance window.
        package var working = 0
        /// Whether a discretionary transfer runs, or could run in a maintenance window.
        package var transfersWork = false

        package init() {}
    }

    /// Creates the device state machine after a start of the service.
    ///
    /// - Parameter doze: the state of doze that was stored last.
    package init(doze: DozeMachine.State, conditions: DeviceConditions = DeviceConditions()) {
        self.doze = DozeMachine(state: doze)
        self.conditions = conditions
    }

    /// The conditions whose changes are recorded. Free space is excluded because it changes with every byte.
    package static let journalled = DeviceKey.conditions.filter { $0 != .freeBytes }

    // MARK: - Inputs

    /// Records the conditions when the service starts.
    package mutating func begin(_ conditions: DeviceConditions, now: ClockReading) -> [Action] {
        self.conditions = conditions
        let entry = JournalEntry(
            time: now.date, decision: .deviceChanged, detail: "The conditions when the service started.",
            inputs: conditions.inputs(Self.journalled))
        return actions(doze.changed(to: conditions, now: now), [entry], tells: true, now)
    }

    /// Handles a change of the device's conditions.
    ///
    /// - Returns: no actions if no recorded condition has changed and the machine has not slept. In this case,
    ///   ``conditions`` stay unchanged as well.
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

    /// Handles the reading that ``Action/readConditions(since:)`` requested.
    package mutating func refreshed(
        _ conditions: DeviceConditions, askedAt time: Double, now: ClockReading
    ) -> [Action] {
        let news = changed(to: conditions, now: now)
        if requestedReading == time { requestedReading = nil }
        return news + actions(doze.confirmed(asOf: time, now: now), [], tells: false, now)
    }

    /// Handles a change of the activity of apps and transfers.
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

    /// Requests that doze enter a phase now.
    package mutating func request(
        _ phase: DozePhase, now: ClockReading
    ) -> Result<[Action], DozeMachine.Refusal> {
        switch doze.request(phase, now: now) {
        case .success(let changes): .success(actions(changes, [], tells: false, now))
        case .failure(let refusal): .failure(refusal)
        }
    }

    /// Makes the decisions that are due at this time.
    package mutating func tick(now: ClockReading) -> [Action] {
        actions(doze.tick(now: now), [], tells: false, now)
    }

    // MARK: - Results

    package var moment: DeviceState { DeviceState(conditions: conditions, phase: doze.phase) }

    /// The time in boot seconds of the next call to ``tick(now:)``.
    package var nextDeadline: Double? { doze.nextDeadline }

    // MARK: - Texts

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
    /// A text that names the apps and tasks that keep the device awake; nil if there are none.
    fileprivate var sentence: String? {
        guard !isEmpty else { return nil }
        return map { "\($0.app): \($0.tasks.joined(separator: ", "))" }.joined(separator: "; ")
    }
}
