import CNightshift
import Glibc
import NightshiftAPI
import Synchronization

/// One thread for all timers of the process, and for descriptors that the kernel makes readable when something happens.
/// Without timers and events, it does not wake up.
///
/// A timer sleeps until it is due, also across a suspend of the machine. Closures are called on the thread, and must not
/// block.
package final class EventThread: Sendable {
    /// A timer that can be cancelled.
    package struct Timer: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State: Sendable {
        /// The last number of a timer or a descriptor.
        var last = 0
        /// The deadlines of timers in seconds of CLOCK_BOOTTIME.
        var deadlines = Deadlines<Int>()
        var timers: [Int: @Sendable () -> Void] = [:]
        /// The deadline for which the kernel's timer is set.
        var setFor: Double?
        var watches: [Int: Watch] = [:]
        var hasBegun = false
    }

    private struct Watch: Sendable {
        let descriptor: Int32
        /// Handles an event. Returns whether the descriptor is watched further.
        let onReadable: @Sendable () -> Bool
    }

    package static let shared = EventThread()

    private let state = Mutex(State())
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let timer = nightshift_timer_descriptor()

    private init() {
        precondition(epoll >= 0 && timer >= 0, "no descriptors are left for timers")
        precondition(add(timer, Self.timerToken))
    }

    /// The token of the kernel's timer. All other tokens are larger.
    private static let timerToken: UInt64 = 0

    // MARK: - Timers

    /// Calls `fire` after `delay`, and never earlier.
    @discardableResult
    package func add(after delay: Duration, _ fire: @escaping @Sendable () -> Void) -> Timer {
        let deadline = Self.now + delay / .seconds(1)
        return state.withLock { state in
            state.last += 1
            state.timers[state.last] = fire
            state.deadlines[state.last] = deadline
            begin(&state)
            set(&state)
            return Timer(number: state.last)
        }
    }

    /// Cancels a timer. If it has fired already, nothing happens.
    package func cancel(_ timer: Timer) {
        state.withLock { state in
            state.timers[timer.number] = nil
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
        let result = nightshift_set_timer(timer, nanoseconds)
        precondition(result == 0, "timerfd_settime: \(String(cString: strerror(errno)))")
    }

    private func takeDue() -> [@Sendable () -> Void] {
        var count: UInt64 = 0
        _ = read(timer, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { state in
            let due = state.deadlines.takeDue(Self.now).compactMap { state.timers.removeValue(forKey: $0) }
            state.setFor = nil
            set(&state)
            return due
        }
    }

    private static var now: Double { Double(nightshift_boot_nanoseconds()) / 1e9 }

    // MARK: - Descriptors

    /// Calls `onReadable` when the descriptor becomes readable, and again until it returns false. The descriptor is then
    /// closed.
    ///
    /// - Returns: whether the descriptor can be watched. If not, it is closed at once.
    package func watch(_ descriptor: Int32, _ onReadable: @escaping @Sendable () -> Bool) -> Bool {
        let number = state.withLock { state in
            state.last += 1
            state.watches[state.last] = Watch(descriptor: descriptor, onReadable: onReadable)
            begin(&state)
            return state.last
        }
        guard !add(descriptor, UInt64(number)) else { return true }
        end(number, descriptor)
        return false
    }

    private func add(_ descriptor: Int32, _ token: UInt64) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    private func handle(_ number: Int) {
        guard let watch = state.withLock({ $0.watches[number] }), !watch.onReadable() else { return }
        end(number, watch.descriptor)
    }

    private func end(_ number: Int, _ descriptor: Int32) {
        state.withLock { $0.watches[number] = nil }
        // Closing it also removes it from the epoll descriptor.
        close(descriptor)
    }

    // MARK: - The thread

    private func begin(_ state: inout State) {
        guard !state.hasBegun else { return }
        state.hasBegun = true
        DetachedThread.startWhenPossible("nightshift-wait") { self.serve() }
    }

    private func serve() {
        var events = [epoll_event](repeating: epoll_event(), count: 16)
        while true {
            let count = epoll_wait(epoll, &events, Int32(events.count), -1)
            precondition(count >= 0 || errno == EINTR, "epoll_wait: \(String(cString: strerror(errno)))")
            for event in events.prefix(max(0, Int(count))) {
                if event.data.u64 == Self.timerToken {
                    for fire in takeDue() { fire() }
                } else {
                    handle(Int(event.data.u64))
                }
            }
        }
    }
}
