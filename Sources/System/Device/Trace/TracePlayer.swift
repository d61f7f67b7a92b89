import Glibc
import NightshiftAPI

/// The loop that plays a trace in real time and publishes the reports.
final class TracePlayer: PollLoop {
    private let thread: PollThread<DeviceOrder, Void>
    private let current: CurrentReport
    private let trace: DeviceTrace
    private var beginning = 0.0

    init(_ thread: PollThread<DeviceOrder, Void>, _ current: CurrentReport, _ trace: DeviceTrace) {
        self.thread = thread
        self.current = current
        self.trace = trace
    }

    let sources: [pollfd] = []
    var deadline: Double? { trace.next(after: now - beginning).map { beginning + $0 } }

    func begin(_ orders: [DeviceOrder]) {
        beginning = now
        wake([], orders)
    }

    func wake(_ isReady: [Bool], _ orders: [DeviceOrder]) {
        if current.setReadings([trace.reading(at: now - beginning)], isSettled: true) { thread.publish(()) }
        end(orders)
    }

    func end(_ orders: [DeviceOrder]) {
        // A trace is always up to date.
        for case .refresh(let waiter) in orders { waiter.resume() }
    }
}
