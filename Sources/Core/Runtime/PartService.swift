package import Clock
package import NightshiftAPI

/// An actor that executes what the state of its part decides.
package protocol PartService: Actor {
    associatedtype State: PartState

    nonisolated var clock: any ServiceClock { get }
    var part: Part<State> { get }
    /// The alarm for the next decision.
    var alarm: Alarm { get set }
    /// A time in boot seconds at which the part also decides; nil for none.
    var furtherDecision: Double? { get }

    /// Executes an effect after the changes of its step were written, or could not be written.
    func perform(_ effect: State.Effect) async

    /// Decides again, because time has passed.
    func look() async

    /// A hook that runs after each decision, and does not wait for the disk. It may call ``Part/take(_:)``.
    func decided()

    /// A hook that runs when changes are on disk.
    func written(_ changes: State.Changes)
}

extension PartService {
    package var state: State { part.state }

    package var furtherDecision: Double? { nil }

    package func decided() {}

    package func written(_ changes: State.Changes) {}

    package var hooks: Part<State>.Hooks {
        Part.Hooks(
            decided: {
                self.decided()
                self.setAlarm()
            }, written: { self.written($0) })
    }

    /// Gives the state an input for which no caller waits, decides, and executes the effects.
    ///
    /// - Parameter coversEarlier: see ``Part/step(_:coversEarlier:_:)``.
    /// - Returns: whether the changes are on disk.
    @discardableResult
    package func tell(
        coversEarlier: Bool = false, _ input: (inout State, State.Moment) -> Void
    ) async -> Bool {
        let step = await part.step(input, coversEarlier: coversEarlier, hooks)
        for effect in step.effects { await perform(effect) }
        return step.isWritten
    }

    /// Performs a request, and returns when its changes are on disk. If they cannot be written, nothing has changed.
    package func ask<Value>(
        _ input: (inout State, State.Moment) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (value, effects) = try await part.change(input, hooks)
        for effect in effects { await perform(effect) }
        return value
    }

    package func look() async { await tell { _, _ in } }

    package func setAlarm() {
        let now = clock.now()
        let next =
            switch part.state.nextDecision {
            case .bootSeconds(let time): time
            case .awakeSeconds(let time): now.bootSeconds + time - now.awakeSeconds
            case .wallSeconds(let time): now.bootSeconds + max(0, time - now.wallSeconds)
            case nil: Double.infinity
            }
        let times = part.isClosed ? [] : [next, part.retryAt, furtherDecision].compactMap(\.self).filter(\.isFinite)
        alarm.set(for: times.min(), by: clock) { [weak self] in await self?.alarmRang($0) }
    }

    private func alarmRang(_ moment: Double) async {
        alarm.rang(moment)
        await look()
    }

    /// Decides again after each change of the wall clock, because such a change affects all times.
    package func followClock() async {
        for await _ in clock.wallClockChanges() { await look() }
    }
}
