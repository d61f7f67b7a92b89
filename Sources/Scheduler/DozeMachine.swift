package import NightshiftAPI

/// Decides whether the device dozes, and when background work runs in windows.
///
/// Pure: what happens goes in, changes with their reasons come out. Times are boot seconds. See `docs/decisions/0012`.
package struct DozeMachine: Sendable {
    /// The state that is stored, so that a service that starts goes on where the last one was.
    package private(set) var state: State
    private var conditions = DeviceConditions()
    private var isHeld = false
    /// Whether anything runs, or wants to run, in a window.
    private var isBusy = false
    /// Boot seconds since which doze is to begin or a window is to close, and waits for ``confirmed(asOf:now:)``; nil where
    /// neither is due.
    package private(set) var readingDue: Double?

    /// Where doze is. The legal exits: awake to dozing; dozing to window and awake; window to dozing and awake.
    package struct State: Hashable, Sendable, Codable {
        package internal(set) var phase = DozePhase.awake
        /// Seconds since 1970: for people.
        package internal(set) var since: Double
        package internal(set) var windowReason: WindowReason?
        /// Since when nothing spoke against doze; nil while something does.
        var quietFrom: Double?
        /// In doze: when the next window opens.
        var nextWindow: Double?
        /// Seconds between the last maintenance window and the next one.
        var interval = DozeMachine.firstInterval
        /// In a window: when it closes at the latest, and since when nothing in it is busy.
        var closesBy: Double?
        var idleFrom: Double?
        /// Somebody asked for doze: then being plugged in, or in use, does not keep the device from it; both together do.
        var isRequested = false
        /// Somebody asked for the opposite: no doze before the device was used again.
        var isRefused = false

        package init(since: Double) {
            self.since = since
        }
    }

    /// A change of doze. Changes are given in order.
    package enum Change: Hashable, Sendable {
        case dozeBegan
        case dozeEnded(AwakeReason)
        case windowOpened(WindowReason)
        case windowClosed

        package var decision: Decision {
            switch self {
            case .dozeBegan: .dozeBegan
            case .dozeEnded: .dozeEnded
            case .windowOpened: .windowOpened
            case .windowClosed: .windowClosed
            }
        }

        package var sentence: String? {
            switch self {
            case .dozeBegan, .windowClosed: nil
            case .dozeEnded(let reason): reason.sentence
            case .windowOpened(let reason): reason.sentence
            }
        }
    }

    /// Seconds that a device is left alone on battery before it dozes: what was begun just before has ended then.
    package static let quietTime: Double = 60
    /// Seconds until the first maintenance window; doubled by each until ``longestInterval``.
    package static let firstInterval: Double = 900
    package static let longestInterval: Double = 14_400
    /// Seconds without work after which a window closes: what was let go has shown by then whether it goes on.
    package static let windowRest: Double = 10
    package static let longestWindow: Double = 300

    package init(state: State) {
        self.state = state
    }

    // MARK: - Inputs

    package mutating func changed(to conditions: DeviceConditions, now: ClockReading) -> [Change] {
        let before = self.conditions
        self.conditions = conditions
        // With its user back, nobody waits any more for what was asked before.
        if before.isIdle, !conditions.isIdle {
            state.isRefused = false
            state.isRequested = false
        }
        var changes = step(now)
        if conditions.woke(since: before), state.phase == .dozing {
            changes += open(.deviceWoke, now)
        }
        return changes
    }

    /// - Parameters:
    ///   - held: whether an app holds the device awake.
    ///   - busy: whether anything runs, or wants to run, in a window.
    ///   - wakes: whether an app is being woken, or is handling what it was woken for.
    package mutating func changed(held: Bool, busy: Bool, wakes: Bool, now: ClockReading) -> [Change] {
        isHeld = held
        isBusy = busy || wakes
        var changes = step(now)
        // Nothing runs on a machine that sleeps; its waking opens a window of its own.
        if wakes, state.phase == .dozing, !conditions.isSleeping { changes += open(.appWoken, now) }
        return changes
    }

    /// Somebody asks for a phase now.
    ///
    /// - Returns: the changes, or why it cannot be.
    package mutating func request(_ phase: DozePhase, now: ClockReading) -> Result<[Change], Refusal> {
        switch phase {
        case .awake:
            state.isRequested = false
            state.isRefused = true
            return .success(step(now))
        case .dozing:
            guard !isInUseWithPower else { return .failure(Refusal(reason: .inUse)) }
            guard !isHeld else { return .failure(Refusal(reason: .held)) }
            state.isRequested = true
            state.isRefused = false
            guard state.phase == .window else { return .success(step(now, isConfirmed: true)) }
            readingDue = nil
            return .success(close(now))
        case .window:
            guard state.phase != .awake else { return .failure(Refusal(reason: awakeReason ?? .settling)) }
            return .success(state.phase == .dozing ? open(.requested, now) : [])
        }
    }

    /// Why a request is not followed: what keeps the device awake.
    package struct Refusal: Error, Hashable, Sendable {
        package var reason: AwakeReason
    }

    package mutating func tick(now: ClockReading) -> [Change] { step(now) }

    /// The device was asked for its conditions at `time` (boot seconds), and the ones given last are its answer.
    ///
    /// Doze begins and windows close with that alone: a change that nobody announced could be older than the decision.
    package mutating func confirmed(asOf time: Double, now: ClockReading) -> [Change] {
        guard let readingDue, time >= readingDue else { return [] }
        return step(now, isConfirmed: true)
    }

    // MARK: - What it says

    package var phase: DozePhase { state.phase }

    /// The reason that keeps the device out of doze; nil while it dozes.
    package var awakeReason: AwakeReason? {
        guard state.phase == .awake else { return nil }
        return obstacle ?? .settling
    }

    /// Boot seconds at which ``tick(now:)`` has something to do.
    package var nextDeadline: Double? {
        guard readingDue == nil else { return nil }
        return switch state.phase {
        case .awake: state.quietFrom.map { $0 + Self.quietTime }
        case .dozing: conditions.isSleeping ? nil : state.nextWindow
        case .window where isHeld: nil
        case .window: [state.closesBy, state.idleFrom.map { $0 + Self.windowRest }].compactMap(\.self).min()
        }
    }

    package func status(now: ClockReading) -> DozeStatus {
        let until = state.phase == .dozing ? state.nextWindow : state.phase == .window ? state.closesBy : nil
        return DozeStatus(
            phase: state.phase, since: ClockReading.date(wallSeconds: state.since), awakeReason: awakeReason,
            windowReason: state.windowReason, until: until.map { now.wallTime(ofBootSeconds: $0) })
    }

    /// Moves a state that was kept into another boot. The next window of a device that was off may have come.
    package static func moved(_ state: State, by shift: Double) -> State {
        var state = state
        state.quietFrom = state.quietFrom.map { $0 + shift }
        state.nextWindow = state.nextWindow.map { $0 + shift }
        state.closesBy = state.closesBy.map { $0 + shift }
        state.idleFrom = state.idleFrom.map { $0 + shift }
        return state
    }

    // MARK: - Deciding

    private var isInUseWithPower: Bool { !conditions.isIdle && conditions.power == .external }

    /// The first reason against doze; nil where there is none.
    private var obstacle: AwakeReason? {
        if state.isRefused { return .requested }
        if state.isRequested {
            if isInUseWithPower { return .inUse }
        } else {
            if !conditions.isIdle { return .inUse }
            if conditions.power == .external { return .externalPower }
        }
        // Last: what else there is ends doze, and this does not.
        return isHeld ? .held : nil
    }

    /// - Parameter isConfirmed: whether the conditions were read after the decision became due.
    private mutating func step(_ now: ClockReading, isConfirmed: Bool = false) -> [Change] {
        let time = now.bootSeconds
        let due = readingDue ?? time
        readingDue = nil
        if let obstacle {
            state.quietFrom = nil
            guard state.phase != .awake else { return [] }
            guard obstacle == .held else { return leave(obstacle, now) }
            // Held awake by an app that had to be woken: what waits runs meanwhile, and doze goes on behind it.
            return state.phase == .dozing && !conditions.isSleeping ? open(.appWoken, now) : []
        }
        switch state.phase {
        case .awake:
            let from = state.quietFrom ?? time
            state.quietFrom = from
            guard state.isRequested || time >= from + Self.quietTime else { return [] }
            guard isConfirmed else {
                readingDue = due
                return []
            }
            return begin(now)
        case .dozing:
            guard !conditions.isSleeping, state.nextWindow ?? .infinity <= time else { return [] }
            return open(.maintenance, now)
        case .window:
            if isBusy { state.idleFrom = nil } else if state.idleFrom == nil { state.idleFrom = time }
            let rested = state.idleFrom.map { time >= $0 + Self.windowRest } ?? false
            guard rested || conditions.isSleeping || state.closesBy ?? time <= time else { return [] }
            // Nobody is at work at a machine that sleeps.
            guard isConfirmed || conditions.isSleeping else {
                readingDue = due
                return []
            }
            return close(now)
        }
    }

    private mutating func begin(_ now: ClockReading) -> [Change] {
        enter(.dozing, now)
        state.quietFrom = nil
        state.interval = Self.firstInterval
        state.nextWindow = now.bootSeconds + Self.firstInterval
        return [.dozeBegan]
    }

    private mutating func open(_ reason: WindowReason, _ now: ClockReading) -> [Change] {
        enter(.window, now)
        state.windowReason = reason
        state.closesBy = now.bootSeconds + Self.longestWindow
        state.idleFrom = isBusy ? nil : now.bootSeconds
        // A window that others opened does not put the next one of its own off.
        if reason == .maintenance { state.interval = min(state.interval * 2, Self.longestInterval) }
        return [.windowOpened(reason)]
    }

    private mutating func close(_ now: ClockReading) -> [Change] {
        let wasMaintenance = state.windowReason == .maintenance
        enter(.dozing, now)
        if wasMaintenance || state.nextWindow ?? 0 <= now.bootSeconds {
            state.nextWindow = now.bootSeconds + state.interval
        }
        return [.windowClosed]
    }

    private mutating func leave(_ reason: AwakeReason, _ now: ClockReading) -> [Change] {
        enter(.awake, now)
        state.nextWindow = nil
        state.isRequested = false
        return [.dozeEnded(reason)]
    }

    private mutating func enter(_ phase: DozePhase, _ now: ClockReading) {
        state.phase = phase
        state.since = now.wallSeconds
        state.windowReason = nil
        state.closesBy = nil
        state.idleFrom = nil
    }
}
