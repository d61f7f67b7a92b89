import CNightshift
import CSystemd
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// A thread that sleeps in poll(2) until an event arrives, an order arrives, or a deadline passes.
///
/// Other threads send orders to it and read its events. Every method may be called from any thread, and blocks for no
/// longer than a lock.
final class PollThread<Order: Sendable, Event: Sendable>: Sendable {
    private struct State {
        var orders: [Order] = []
        var hasBegun = false
        var isStopped = false
    }

    /// A stream of the events in order. The stream supports one reader and ends with ``stop()``.
    let events: AsyncStream<Event>

    private let name: String
    private let makeLoop: @Sendable (PollThread) -> any PollLoop<Order>
    private let continuation: AsyncStream<Event>.Continuation
    /// An eventfd(2) that is readable when the thread must wake. It stays open for the whole lifetime of this object, so
    /// that no other file gets its number.
    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameters:
    ///   - buffering: the handling of events that have not been read yet.
    ///   - makeLoop: a function that returns the work of the thread. It runs on the thread.
    init(
        _ name: String, buffering: AsyncStream<Event>.Continuation.BufferingPolicy = .unbounded,
        makeLoop: @escaping @Sendable (PollThread) -> any PollLoop<Order>
    ) {
        self.name = name
        self.makeLoop = makeLoop
        (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: buffering)
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

    /// Starts the thread. Later calls have no effect, and neither has a call after ``stop()``.
    func start() {
        let isFirst = state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun && !state.isStopped
        }
        guard isFirst else { return }
        let thread = Thread { self.run() }
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// Whether the thread has been started and not stopped.
    var isRunning: Bool { state.withLock { $0.hasBegun && !$0.isStopped } }

    /// Sends an order. An order that is sent before the start waits for the start. Returns false after ``stop()``; the
    /// loop receives all other orders of a thread that was started.
    @discardableResult
    func send(_ order: Order) -> Bool {
        let isSent = state.withLock { state in
            if !state.isStopped { state.orders.append(order) }
            return !state.isStopped
        }
        wake()
        return isSent
    }

    /// Wakes the thread, which then runs its loop once.
    func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Adds an event to the stream.
    func publish(_ event: Event) {
        continuation.yield(event)
    }

    /// Ends the stream of events, and makes the thread end soon.
    func stop() {
        state.withLock { $0.isStopped = true }
        continuation.finish()
        wake()
    }

    private func run() {
        nightshift_name_thread(name)
        let loop = makeLoop(self)
        loop.begin(takeOrders())
        while isRunning {
            var polled = [pollfd(reading: descriptor)] + loop.sources
            let count = poll(&polled, nfds_t(polled.count), Self.milliseconds(until: loop.deadline, now: loop.now))
            if count < 0, errno != EINTR { stop() }
            if isRunning { loop.wake(polled.dropFirst().map { $0.revents != 0 }, takeOrders()) }
        }
        loop.end(takeOrders())
    }

    /// Removes and returns the orders, and resets the readiness of ``descriptor``.
    private func takeOrders() -> [Order] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { state in
            defer { state.orders = [] }
            return state.orders
        }
    }

    /// Returns a timeout for poll(2). It is rounded up, so that the deadline has passed when poll(2) returns.
    private static func milliseconds(until deadline: Double?, now: Double) -> Int32 {
        guard let deadline else { return -1 }
        return Int32(saturating: min(max(0, ((deadline - now) * 1000).rounded(.up)), 86_400_000))
    }
}

/// The work of a ``PollThread``. Only that thread uses it.
protocol PollLoop<Order>: AnyObject {
    associatedtype Order: Sendable

    /// The files to wait for.
    var sources: [pollfd] { get }
    /// The time at which to wake even if nothing has happened; nil for no such time. Its clock is that of ``now``.
    var deadline: Double? { get }

    /// Begins the work, with the orders that were sent before the start.
    func begin(_ orders: [Order])
    /// Handles whatever has woken the thread. `isReady` has one element for each of the ``sources``.
    func wake(_ isReady: [Bool], _ orders: [Order])
    /// Ends the work, with the orders that were sent since the thread last woke.
    func end(_ orders: [Order])
}

extension PollLoop {
    /// The current time in seconds of CLOCK_MONOTONIC, which stops while the machine sleeps.
    var now: Double { Double(nightshift_awake_nanoseconds()) / 1e9 }
}

extension pollfd {
    /// A file to wait for. poll(2) ignores negative descriptors, which are used for nil.
    init(reading descriptor: Int32?, events: Int16 = Int16(POLLIN)) {
        self.init(fd: descriptor ?? -1, events: events, revents: 0)
    }
}
