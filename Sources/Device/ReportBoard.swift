import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// Where the thread that listens and everybody else meet: the report for them, their wishes for it.
final class ReportBoard: Sendable {
    private struct State {
        var readings: [ProviderReading]
        var overrides: [DeviceKey: String]
        var isSettled = false
        var report: DeviceReport
        var wishes = Wishes()
        var hasBegun = false
        var placeListener: (@Sendable (PlaceWord?) -> Void)?
        /// Callers that wait for readings, each with its number in ``Wishes/refreshes``.
        var refreshWaiters: [(number: Int, waiter: CheckedContinuation<Void, Never>)] = []

        /// Takes the waiters out whose readings have come.
        mutating func takeWaiters(through number: Int) -> [CheckedContinuation<Void, Never>] {
            let due = refreshWaiters.filter { $0.number <= number }.map(\.waiter)
            refreshWaiters.removeAll { $0.number <= number }
            return due
        }
    }

    /// The orders for the thread that listens.
    struct Wishes {
        var awakeReason: String?
        var isEnded = false
        /// How many readings have been asked for.
        var refreshes = 0
    }

    private let state: Mutex<State>
    private let continuation: AsyncStream<Void>.Continuation
    /// An eventfd(2), readable when the wishes have changed or free space is to be read; closed with this object, so that
    /// nobody uses the number of another file.
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

    /// False when it has begun before, or ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.wishes.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    /// Has `listener` told the place that is set, now and whenever it is another one: under this object's lock, one after
    /// the other, so that the last one told is the one that holds. It is not to wait, nor to call this object.
    func listenForPlace(_ listener: @escaping @Sendable (PlaceWord?) -> Void) {
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

    /// Asks the thread that listens for a new reading, and waits until it is published; not at all where nobody listens.
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

    /// For the thread that listens: what it is to do now. Takes the readiness of ``descriptor`` away.
    func takeWishes() -> Wishes {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { $0.wishes }
    }

    /// For the thread that listens. What has once settled stays so.
    ///
    /// - Parameters:
    ///   - slept: whether the clocks say that the machine has slept since it published last.
    ///   - refreshes: how many of the readings that were asked for have come.
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
            // Here, where each report passes: readers see the newest one alone.
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
