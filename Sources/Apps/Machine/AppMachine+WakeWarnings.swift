package import NightshiftAPI
import Store

/// Wakes whose time is nearly over, or that are not to go on: the app is told once of each, and has a little time left.
extension AppMachine {
    /// Tells the app that a wake is not to go on: its time is nearly over from here on. Once for each wake.
    ///
    /// What the app has not heard of is given up at once.
    ///
    /// - Returns: nil where no such wake is under way or wanted, or the source knows no such thing.
    package mutating func expireWake(_ source: WakeSource, key: String, now: ClockReading) -> [AppAction]? {
        guard source.rules.isWarned else { return nil }
        let identity = WantedWake.Identity(source: source, key: key)
        let why = "It was called off before it began."
        guard let wake = begun.first(where: { $0.wake.identity == identity }) else {
            let waiting = wanted.filter { $0.identity == identity && isOpen($0) }
            return waiting.isEmpty ? nil : discard(waiting, why)
        }
        guard ending == nil, wake.expiration == nil else { return [] }
        if phase == .present, wake.command != nil || completesByExiting {
            return warn(now) { $0.wake.identity == identity }
        }
        let dropped = drop(removeBegun(now) { $0.wake.identity == identity }, why)
        // A launch that was for it alone may still turn out to be that of an app that links the library.
        if !hasConnected, connectBy == nil, phase == .present { connectBy = now.awakeSeconds + Self.connectLimit }
        return dropped + suspendIfIdle(now)
    }

    /// Seconds between being told of a wake's end and that end: of a short wake no more than half.
    func lead(of source: WakeSource) -> Double {
        let limit = source.limit(declared: wakeLimit)
        return min(terms.effectiveLead, limit.map { $0 / 2 } ?? .infinity)
    }

    /// Awake seconds at which the app has to be told that the time of a wake is nearly over.
    var nextWarning: Double? { warnings.map(\.time).min() }

    /// Tells the app of the wakes whose time is nearly over.
    mutating func warnOfEnds(_ now: ClockReading) -> [AppAction] {
        let due = Set(warnings.filter { $0.time <= now.awakeSeconds }.map(\.identity))
        return due.isEmpty ? [] : warn(now) { due.contains($0.wake.identity) }
    }

    /// When the app has to be told of which wake.
    private var warnings: [(identity: WantedWake.Identity, time: Double)] {
        guard phase == .present, ending == nil else { return [] }
        guard completesByExiting else {
            return begun.compactMap { wake in
                guard wake.isWarnable, wake.command != nil, let end = wake.deadline else { return nil }
                return (wake.wake.identity, end - lead(of: wake.wake.source))
            }
        }
        // SIGTERM is about everything that a program was launched for.
        guard begun.allSatisfy(\.isWarnable), let end = overdueWake?.deadline else { return [] }
        return begun.map { ($0.wake.identity, end - lead(of: $0.wake.source)) }
    }

    private mutating func warn(_ now: ClockReading, where isMeant: (BegunWake) -> Bool) -> [AppAction] {
        guard !completesByExiting else { return warnProgram(now) }
        var actions: [AppAction] = []
        for index in begun.indices where isMeant(begun[index]) && begun[index].isWarnable {
            var command = newCommand(.expireWake)
            command.source = begun[index].wake.source
            command.key = begun[index].wake.key.isEmpty ? nil : begun[index].wake.key
            command.through = begun[index].wake.through
            actions.append(expire(index, by: command.number, now))
            command.limit = begun[index].deadline.map { max(0, $0 - now.awakeSeconds) }
            // A process that is not connected is told when it connects.
            commands.append(PendingCommand(command: command))
            if isConnected { actions.append(.send(command)) }
        }
        return actions
    }

    /// A program hears of nothing but SIGTERM, and of that once.
    private mutating func warnProgram(_ now: ClockReading) -> [AppAction] {
        let number = newCommand(.expireWake).number
        var notes: [AppAction] = []
        for index in begun.indices where begun[index].isWarnable { notes.append(expire(index, by: number, now)) }
        return notes.isEmpty ? [] : notes + [.terminate]
    }

    /// Where nothing limits the wake because its user sees the app, nothing does from here on either, unless it is the wake that
    /// ends and not the app. Who is told late, because the service was away or busy, has as long all the same.
    private mutating func expire(_ index: Int, by number: Int64, _ now: ClockReading) -> AppAction {
        let source = begun[index].wake.source
        begun[index].expiration = number
        if begun[index].deadline != nil || source.rules.limit == .unlimited {
            begun[index].deadline = now.awakeSeconds + lead(of: source)
        }
        var inputs = ["source": source.rawValue]
        if let end = begun[index].deadline { inputs["left"] = Self.text(end - now.awakeSeconds) }
        return .note(.wakeExpiring, begun[index].wake.name, inputs: inputs)
    }

    /// Awake seconds at which a wake is given up for which no app is ended: it was called off, or nobody has heard of it.
    var nextGivingUp: Double? { begun.filter(\.isGivenUp).compactMap(\.deadline).min() }

    /// Gives up what was called off and has not ended, or was not heard of. The app goes on by the ordinary rules.
    mutating func giveUpLate(_ now: ClockReading) -> [AppAction] {
        let late = begun.filter { $0.isGivenUp && $0.deadline ?? .infinity <= now.awakeSeconds }
        return late.flatMap { wake in
            drop(
                removeBegun(now) { $0 == wake },
                wake.isCalledOff ? "It was called off, and did not end in time." : "The app did not hear of it.")
        }
    }
}

extension BegunWake {
    /// Whether the app can be told that its time is nearly over, and was not.
    fileprivate var isWarnable: Bool { expiration == nil && wake.source.rules.isWarned }

    /// Whether it is the wake that ends when its time is over, and not the app.
    fileprivate var isGivenUp: Bool { wake.source.rules.overdue == nil }

    /// Whether the app was told that it is not to go on, and goes on itself.
    var isCalledOff: Bool { isGivenUp && expiration != nil }
}
