package import NightshiftAPI
import Store

/// Expiration warnings of wakes. The app is warned once for each wake, and then has only the warning time left.
extension AppMachine {
    /// Warns the app that a wake is called off. Only the warning time is left. The app is warned once for each wake.
    ///
    /// A wake that the app has not received is dropped at once.
    ///
    /// - Returns: nil if no such wake is under way or wanted, or its source has no expiration warning.
    package mutating func expireWake(_ source: WakeSource, key: String, now: ClockReading) -> [AppAction]? {
        guard source.rules.isWarned else { return nil }
        let identity = WantedWake.Identity(source: source, key: key)
        let why = "The wake was called off before it began."
        guard let wake = begun.first(where: { $0.wake.identity == identity }) else {
            let waiting = wanted.filter { $0.identity == identity && isOpen($0) }
            return waiting.isEmpty ? nil : discard(waiting, why)
        }
        guard ending == nil, wake.expiration == nil else { return [] }
        if phase == .present, wake.command != nil || completesByExiting {
            return warn(now) { $0.wake.identity == identity }
        }
        let dropped = drop(removeBegun(now) { $0.wake.identity == identity }, why)
        // The process was launched for this wake alone, and may still turn out to link the library.
        if !hasConnected, connectBy == nil, phase == .present { connectBy = now.awakeSeconds + Self.connectLimit }
        return dropped + suspendIfIdle(now)
    }

    /// Returns the warning time of a source in seconds. It is at most half of the source's limit.
    func lead(of source: WakeSource) -> Double {
        let limit = source.limit(declared: wakeLimit)
        return min(terms.effectiveLead, limit.map { $0 / 2 } ?? .infinity)
    }

    /// The time of the next expiration warning of a wake, in awake seconds.
    var nextWarning: Double? { warnings.map(\.time).min() }

    /// Warns the app of wakes whose time is nearly over.
    mutating func warnOfEnds(_ now: ClockReading) -> [AppAction] {
        let due = Set(warnings.filter { $0.time <= now.awakeSeconds }.map(\.identity))
        return due.isEmpty ? [] : warn(now) { due.contains($0.wake.identity) }
    }

    /// The wakes that still need an expiration warning, and the time of each warning.
    private var warnings: [(identity: WantedWake.Identity, time: Double)] {
        guard phase == .present, ending == nil else { return [] }
        guard completesByExiting else {
            return begun.compactMap { wake in
                guard wake.isWarnable, wake.command != nil, let end = wake.deadline else { return nil }
                return (wake.wake.identity, end - lead(of: wake.wake.source))
            }
        }
        // SIGTERM is a warning for all wakes that the program was launched for.
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
            // A process that is not connected gets the command when it connects.
            commands.append(PendingCommand(command: command))
            if isConnected { actions.append(.send(command)) }
        }
        return actions
    }

    /// Warns a program that does not link the library. It gets SIGTERM once.
    private mutating func warnProgram(_ now: ClockReading) -> [AppAction] {
        let number = newCommand(.expireWake).number
        var notes: [AppAction] = []
        for index in begun.indices where begun[index].isWarnable { notes.append(expire(index, by: number, now)) }
        return notes.isEmpty ? [] : notes + [.terminate]
    }

    /// Records the expiration warning of a wake, and sets the wake's final deadline.
    ///
    /// A wake that has no deadline because the app is in the foreground still gets none. For a source without a limit,
    /// there is an exception: its wake gets a deadline, at which the wake ends and the app continues. An app that is
    /// warned late, because the service was down or busy, still gets the full warning time.
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

    /// The next time, in awake seconds, at which an overdue wake is dropped without ending the app. The wake was called
    /// off, or the app has not received it.
    var nextGivingUp: Double? { begun.filter(\.isGivenUp).compactMap(\.deadline).min() }

    /// Drops wakes that were called off and have not ended in time, and wakes that the app has not received in time.
    /// The app continues to run under the usual rules.
    mutating func giveUpLate(_ now: ClockReading) -> [AppAction] {
        let late = begun.filter { $0.isGivenUp && $0.deadline ?? .infinity <= now.awakeSeconds }
        return late.flatMap { wake in
            drop(
                removeBegun(now) { $0 == wake },
                wake.isCalledOff
                    ? "The wake was called off and did not end in time." : "The app did not receive the wake in time.")
        }
    }
}

extension BegunWake {
    /// Whether the source has an expiration warning, and none was sent yet.
    fileprivate var isWarnable: Bool { expiration == nil && wake.source.rules.isWarned }

    /// Whether the wake is dropped when it is overdue, and the app is not ended.
    fileprivate var isGivenUp: Bool { wake.source.rules.overdue == nil }

    /// Whether the app was warned that the wake ends, and the app may continue to run after that.
    var isCalledOff: Bool { isGivenUp && expiration != nil }
}
