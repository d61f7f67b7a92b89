import CNightshift
import Glibc
import NightshiftAPI
import Synchronization

/// One thread for all timers of the process. It sleeps until the earliest one is due, also across a suspend of the
/// machine. Without timers, it does not wake up.
package final class TimerThread: Sendable {
    /// A timer that can be cancelled.
    package struct Timer: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var last = 0
        /// The deadlines in seconds of CLOCK_BOOTTIME.
        var deadlines = Deadlines<Int>()
        var actions: [Int: @Sendable () -> Void] = [:]
        /// The deadline for which the kernel's timer is set.
        var setFor: Double?
        var hasBegun = false
    }

    package static let shared = TimerThread()

    private let state = Mutex(State())
    private let descriptor = nightshift_timer_descriptor()

    private init() {
        precondition(descriptor >= 0, "timerfd_create: \(String(cString: strerror(errno)))")
    }

    /// Calls `fire` on the timer's thread after `delay`, and never earlier. The call must not block.
    @discardableResult
    package func add(after delay: Duration, _ fire: @escaping @Sendable () -> Void) -> Timer {
        let deadline = Self.now + delay / .seconds(1)
        return state.withLock { state in
            state.last += 1
            state.actions[state.last] = fire
            state.deadlines[state.last] = deadline
            if !state.hasBegun {
                state.hasBegun = true
                let isStarted = DetachedThread.start("nightshift-timer") { self.serve() }
                precondition(isStarted, "no thread could be started for timers")
            }
            set(&state)
            return Timer(number: state.last)
        }
    }

    /// Cancels a timer. If it has fired already, nothing happens.
    package func cancel(_ timer: Timer) {
        state.withLock { state in
            state.actions[timer.number] = nil
            state.deadlines[timer.number] = nil
            set(&state)
        }
    }

    /// Sets the kernel's timer to the earliest deadline.
    private func set(_ state: inout State) {
        guard state.deadlines.next != state.setFor else { return }
        state.setFor = state.deadlines.next
        // A deadline is rounded up to whole nanoseconds, because 0 would clear the timer.
        let nanoseconds = state.setFor.map { max(1, Int64(saturating: ($0 * 1e9).rounded(.up))) } ?? 0
        let result = nightshift_set_timer(descriptor, nanoseconds)
        precondition(result == 0, "timerfd_settime: \(String(cString: strerror(errno)))")
    }

    private func serve() {
        while true {
            var count: UInt64 = 0
            _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
            for fire in takeDue() { fire() }
        }
    }

    private func takeDue() -> [@Sendable () -> Void] {
        state.withLock { state in
            let due = state.deadlines.takeDue(Self.now).compactMap { state.actions.removeValue(forKey: $0) }
            state.setFor = nil
            set(&state)
            return due
        }
    }

    private static var now: Double { Double(nightshift_boot_nanoseconds()) / 1e9 }
}
