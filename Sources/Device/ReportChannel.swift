import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// A channel that passes reports from the listening thread to other threads, and requests from these threads to it.
final class ReportChannel: Sendable {
    private struct State {
        var readings: [ProviderReading]
        var overrides: [DeviceKey: String]
        var isSettled = false
        var report: DeviceReport
        var wishes = Wishes()
        var hasBegun = false
        var placeListener: (@Sendable (LocationSetting?) -> Void)?
        /// Callers waiting for readings, each with its number in ``Wishes/refreshes``.
        var refreshWaiters: [(number: Int, waiter: CheckedContinuation<Void, Never>)] = []

        /// Removes and returns the waiters whose readings have arrived.
        mutating func takeWaiters(through number: Int) -> [CheckedContinuation<Void, Never>] {
            let due = refreshWaiters.filter { $0.number <= number }.map(\.waiter)
            refreshWaiters.removeAll { $0.number <= number }
            return due
        }
    }

    /// The requests to the listening thread.
    struct Wishes {
        var awakeReason: String?
        var isEnded = false
        /// The number of readings requested so far.
        var refreshes = 0
    }

    private let state: Mutex<State>
    private let continuation: AsyncStream<Void>.Continuation
    /// An eventfd(2) that is readable when the requests have changed or free space must be read. It stays open for the
    /// whole lifetime of this object, so that no other file gets its number.
    let descriptor: Int32

    init(
        readings: [ProviderReading], overrides: [DeviceKey: String], continuation: AsyncStream<Void>.Continuation
    ) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        state = Mutex(
            State(
                readings: readings, overrides: overrides,
                report: DeviceReport(readings: readings, overrides: overrides, isSettled: false)))
    }

    deinit {
        close(descriptor)
    }

    var report: DeviceReport { state.withLock { $0.report } }

    /// Records that listening begins. Returns false if it had already begun or has ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.wishes.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    /// Calls `listener` with the location that is set, now and after each change. The calls are made in order under
    /// this object's lock, so the last call has the current location. The listener must not block or call this object.
    func listenForPlace(_ listener: @escaping @Sendable (LocationSetting?) -> Void) {
        state.withLock { state in
            state.placeListener = listener
            listener(state.report.place)
        }
    }

    func setOverrides(_ overrides: [DeviceKey: String]) {
        update { $0.overrides = overrides }
        wake()
    }

    func holdAwake(_ why: String?) {
        state.withLock { $0.wishes.awakeReason = why }
        wake()
    }

    func end() {
        let waiters = state.withLock { state in
            state.wishes.isEnded = true
            return state.takeWaiters(through: .max)
        }
        for waiter in waiters { waiter.resume() }
        continuation.finish()
        wake()
    }

    /// Requests a new reading and waits until it is published. Returns at once if no thread is listening.
    func refresh() async {
        await withCheckedContinuation { waiter in
            let isListening = state.withLock { state in
                guard state.hasBegun, !state.wishes.isEnded else { return false }
                state.wishes.refreshes += 1
                state.refreshWaiters.append((state.wishes.refreshes, waiter))
                return true
            }
            if isListening { wake() } else { waiter.resume() }
        }
    }

    /// Returns the current requests, and resets the readiness of ``descriptor``. The listening thread calls this.
    func takeWishes() -> Wishes {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { $0.wishes }
    }

    /// Publishes readings. The listening thread calls this. Once a report is settled, all later ones are settled too.
    ///
    /// - Parameters:
    ///   - slept: whether the clocks show that the machine has slept since the last report.
    ///   - refreshes: the number of requested readings that have arrived so far.
    func publish(_ readings: [ProviderReading], isSettled: Bool, slept: Bool = false, refreshes: Int = 0) {
        update(slept: slept) {
            $0.readings = readings
            $0.isSettled = $0.isSettled || isSettled
        }
        for waiter in state.withLock({ $0.takeWaiters(through: refreshes) }) { waiter.resume() }
    }

    private func update(slept: Bool = false, _ change: (inout State) -> Void) {
        let isNews = state.withLock { state in
            change(&state)
            var report = DeviceReport(
                readings: state.readings, overrides: state.overrides, isSettled: state.isSettled)
            // Sleeps are counted here, because every report passes through this method, while readers see only the
            // latest report.
            report.countSleeps(after: state.report, slept: slept)
            defer { state.report = report }
            if report.place != state.report.place { state.placeListener?(report.place) }
            return report.isNews(after: state.report)
        }
        if isNews { continuation.yield() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
