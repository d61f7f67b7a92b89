import Clock
package import NightshiftAPI
import Synchronization

/// Clocks that do not move until a test advances them.
///
/// Sleepers are woken in the order of their times. After ``halt()`` no sleeper is woken any longer, as after a power
/// cut.
package final class ManualClock: ServiceClock {
    private struct Sleeper {
        var bootSeconds: Double
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var reading: ClockReading
        var sleepers: [Int: Sleeper] = [:]
        var nextTicket = 0
        var watchers: [AsyncStream<Void>.Continuation] = []
        var isHalted = false
    }

    private let state: Mutex<State>

    package init(_ reading: ClockReading) {
        state = Mutex(State(reading: reading))
    }

    package func now() -> ClockReading {
        state.withLock { $0.reading }
    }

    package func sleep(untilBootSeconds bootSeconds: Double) async throws {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if bootSeconds <= state.reading.bootSeconds, !state.isHalted { return .success(()) }
                    state.sleepers[ticket] = Sleeper(bootSeconds: bootSeconds, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: ticket) }?.continuation
                .resume(throwing: CancellationError())
        }
    }

    package func wallClockChanges() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.watchers.append(continuation) }
        return stream
    }

    /// The boot time in seconds at which the next sleeper is due.
    package var nextWaking: Double? {
        state.withLock { $0.sleepers.values.map(\.bootSeconds).min() }
    }

    /// The number of callers that sleep on this clock.
    package var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// Advances all clocks to `bootSeconds` in one step, and wakes every sleeper that is due.
    package func advance(to bootSeconds: Double) { move(to: bootSeconds, asleep: false) }

    /// Puts the machine to sleep for this many seconds, in which its awake clock does not move. Sleepers that became
    /// due are woken afterwards.
    package func sleepMachine(for seconds: Double) { move(to: now().bootSeconds + seconds, asleep: true) }

    private func move(to bootSeconds: Double, asleep: Bool) {
        let due = state.withLock { state in
            let passed = bootSeconds - state.reading.bootSeconds
            if passed > 0 {
                state.reading.bootSeconds = bootSeconds
                if !asleep { state.reading.awakeSeconds += passed }
                state.reading.wallSeconds += passed
            }
            let due = state.sleepers.filter { $0.value.bootSeconds <= bootSeconds }
            for ticket in due.keys { state.sleepers[ticket] = nil }
            return due.sorted { ($0.value.bootSeconds, $0.key) < ($1.value.bootSeconds, $1.key) }
        }
        for (_, sleeper) in due { sleeper.continuation.resume() }
    }

    /// Sets the wall clock, as a user or a time server would.
    package func setWallClock(_ wallSeconds: Double) {
        let watchers = state.withLock { state in
            state.reading.wallSeconds = wallSeconds
            return state.watchers
        }
        for watcher in watchers { watcher.yield() }
    }

    /// Stops waking sleepers for good.
    package func halt() {
        state.withLock { $0.isHalted = true }
    }

    /// Returns the clocks after the machine was off for a while: another boot, and a boot clock that starts again.
    package func afterReboot(bootID: String, off seconds: Double) -> ManualClock {
        let reading = now()
        return ManualClock(
            ClockReading(bootID: bootID, bootSeconds: 3, wallSeconds: reading.wallSeconds + seconds))
    }

    /// Returns the same clocks, for a service that starts after another has died.
    package func afterCrash() -> ManualClock {
        ManualClock(now())
    }
}
