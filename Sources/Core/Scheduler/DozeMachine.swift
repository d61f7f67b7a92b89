package import NightshiftAPI

/// Decides whether the device dozes, and when maintenance windows open for background work.
///
/// This is a pure value: it takes events and returns changes with their reasons. Times are boot seconds. See
/// `docs/decisions/0012`.
package struct DozeMachine: Sendable {
    /// The state that is stored, so that doze continues after a restart of the service.
    package private(set) var state: State
    private var conditions = DeviceConditions()
    private var isHeld = false
    /// Whether work runs in a maintenance window, or waits for one.
    private var isBusy = false
    /// The time in boot seconds at which the start of doze or the end of a window became due. The change then waits for
    /// ``confirmed(asOf:now:)``. Nil if neither is due.
    package private(set) var readingDue: Double?

    /// The state of doze. These are the legal transitions: awake to dozing; dozing to window and awake; window to
    /// dozing and awake.
    package struct State: Hashable, Sendable, Codable {
        package internal(set) var phase = DozePhase.awake
        /// The start of the phase in seconds since 1970, for display.
        package internal(set) var since: Double
        package internal(set) var windowReason: WindowReason?
        /// The time since which no condition has prevented doze; nil while a condition prevents it.
        var quietFrom: Double?
        /// The time at which the next window opens; nil outside of doze.
        var nextWindow: Double?
        /// The number of seconds between the last maintenance window and the next one.
        var interval = DozeMachine.firstInterval
        /// The latest time at which an open window closes. `idleFrom` is the time since which no work has run in the
        /// window.
        var closesBy: Double?
        var idleFrom: Double?
        /// Whether doze was requested. In this case, neither external power alone nor use alone prevents doze, but both
        /// together do.
        var isRequested = false
        /// Whether a person requested that the device stay awake. In this case, doze does not begin before the device
        /// has been used again.
        var isRefused = false

        package init(since: Double) {
            self.since = since
        }
    }

    /// A change of doze. Changes are returned in order.
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

    /// The number of seconds without use on battery before the device dozes. Work that was started just before the last
    /// use has usually ended by then.
    package static let quietTime: Double = 60
    /// The number of seconds until the first maintenance window. Each window doubles the interval, up to
    /// ``longestInterval``.
    package static let firstInterval: Double = 900
    package static let longestInterval: Double = 14_400
    /// The number of seconds without work after which a window closes. Work that may run has started within this time.
    package static let windowRest: Double = 10
    package static let longestWindow: Double = 300

    package init(state: State) {
        self.state = state
    }

    // MARK: - Inputs

    package mutating func changed(to conditions: DeviceConditions, now: ClockReading) -> [Change] {
        let before = self.conditions
        self.conditions = conditions
        // Use of the device cancels earlier requests.
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

    /// Handles a change of the activity of apps and transfers.
    ///
    /// - Parameters:
    ///   - held: whether an app keeps the device awake.
    ///   - busy: whether work runs in a maintenance window, or waits for one.
    ///   - wakes: whether an app is being woken, or is handling a wake.
    package mutating func changed(held: Bool, busy: Bool, wakes: Bool, now: ClockReading) -> [Change] {
        isHeld = held
        isBusy = busy || wakes
        var changes = step(now)
        // While the machine sleeps, no work runs. A window opens when the machine wakes.
        if wakes, state.phase == .dozing, !conditions.isSleeping { changes += open(.appWoken, now) }
        return changes
    }

    /// Requests that doze enter a phase now.
    ///
    /// - Returns: the changes, or the reason why the request is refused.
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

    /// The refusal of a request, with the reason that keeps the device awake.
    package struct Refusal: Error, Hashable, Sendable {
        package var reason: AwakeReason
    }

    package mutating func tick(now: ClockReading) -> [Change] { step(now) }

    /// Applies the decisions that were waiting for a reading of the conditions. `time` is the time of the reading in
    /// boot seconds.
    ///
    /// Doze begins and windows close only after such a reading, because a change that was not announced could be older
    /// than the decision.
    package mutating func confirmed(asOf time: Double, now: ClockReading) -> [Change] {
        guard let readingDue, time >= readingDue else { return [] }
        return step(now, isConfirmed: true)
    }

    // MARK: - Results

    package var phase: DozePhase { state.phase }

    /// The reason that keeps the device out of doze; nil while it dozes.
    package var awakeReason: AwakeReason? {
        guard state.phase == .awake else { return nil }
        return obstacle ?? .settling
    }

    /// The time in boot seconds of the next call to ``tick(now:)``.
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

    /// Returns a stored state with its times converted to the current boot. The next window may have become due while
    /// the device was off.
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

    /// The first reason that prevents doze; nil if doze is possible.
    private var obstacle: AwakeReason? {
        if state.isRefused { return .requested }
        if state.isRequested {
            if isInUseWithPower { return .inUse }
        } else {
            if !conditions.isIdle { return .inUse }
            if conditions.power == .external { return .externalPower }
        }
        // This reason is checked last, because all other reasons end doze and this one does not.
        return isHeld ? .held : nil
    }

    /// Makes the decisions that are due, and returns the changes.
    ///
    /// - Parameter isConfirmed: whether the conditions were read after the decision became due.
    private mutating func step(_ now: ClockReading, isConfirmed: Bool = false) -> [Change] {
        let time = now.bootSeconds
        let due = readingDue ?? time
        readingDue = nil
        if let obstacle {
            state.quietFrom = nil
            guard state.phase != .awake else { return [] }
            guard obstacle == .held else { return leave(obstacle, now) }
            // An app that was woken keeps the device awake. Waiting work runs meanwhile, and doze continues afterwards.
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
            // While the machine sleeps, no reading is needed, because the machine is not in use.
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
        // If a window opens for another reason, the next maintenance window is not delayed.
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
