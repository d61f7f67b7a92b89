import Foundation
package import NightshiftAPI

/// The conditions of the device, as reported by system services and the kernel, or as played from a trace.
///
/// Every method may be called from any thread, and blocks for no longer than a lock. One thread listens. It sleeps in
/// poll(2) until an event arrives.
package final class DeviceMonitor: Sendable {
    package enum Source: Sendable {
        /// The real device. The system bus is at `address` (D-Bus specification, "Server Addresses"). The default is
        /// the value of `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known address.
        case system(address: String? = nil)
        /// A file of ``TraceLine``s, which is played in real time from the call to ``DeviceMonitor/start()``.
        case trace(path: String)
    }

    /// A stream that yields a value each time the report has changed. Changes that have not been read yet are merged
    /// into one. The stream supports one reader and ends with ``shutdown()``.
    ///
    /// A change of free space alone does not yield a value. Free space is read again with every other change.
    package var changes: AsyncStream<Void> { thread.events }

    /// Whether a trace is played instead of the device. The real sources are not used then.
    let isTraced: Bool
    private let current: CurrentReport
    private let thread: PollThread<DeviceOrder, Void>

    /// Creates a monitor that reports the free space of the file system of `path`. Throws ``UnreadableTrace``.
    package init(_ source: Source, freeSpaceOf path: String, overrides: [DeviceKey: String] = [:]) throws {
        let current: CurrentReport
        let makeLoop: @Sendable (PollThread<DeviceOrder, Void>) -> any PollLoop<DeviceOrder>
        switch source {
        case .system(let address):
            let environment = ProcessInfo.processInfo.environment
            let address = address ?? environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? BusAddress.wellKnown
            isTraced = false
            current = CurrentReport(
                readings: BusObserver().readings + [.absent(.kernel, "not read yet")], overrides: overrides)
            makeLoop = { BusListener($0, current, address: address, freeSpaceOf: path) }
        case .trace(let tracePath):
            let trace = try DeviceTrace(path: tracePath)
            isTraced = true
            current = CurrentReport(readings: [trace.reading(at: -1)], overrides: overrides)
            makeLoop = { TracePlayer($0, current, trace) }
        }
        self.current = current
        thread = PollThread("device", buffering: .bufferingNewest(1), makeLoop: makeLoop)
    }

    deinit {
        thread.stop()
    }

    package var report: DeviceReport { current.report }

    /// Replaces all overrides. An override that is not a valid value of its key has no effect.
    package func setOverrides(_ overrides: [DeviceKey: String]) {
        if current.setOverrides(overrides) { thread.publish(()) }
        // Free space is read again.
        thread.wake()
    }

    func listenForPlace(_ listener: @escaping @Sendable (LocationSetting?) -> Void) {
        current.listenForPlace(listener)
    }

    /// Keeps the machine from sleeping and from becoming idle while a reason is set, through a logind inhibitor lock.
    /// Nil releases the lock.
    ///
    /// If logind is missing or refuses the lock, this has no effect, and the detail of logind's provider says so. The
    /// lock is requested again if logind starts later.
    package func holdAwake(_ why: String?) {
        thread.send(.holdAwake(why))
    }

    /// Requests values whose changes are not announced, such as `IdleHint`. Returns when ``report`` contains the
    /// answer, or after ``BusObserver/timeout`` if a service does not answer. Returns at once if the monitor is not
    /// running.
    package func refresh() async {
        guard thread.isRunning else { return }
        await withCheckedContinuation { waiter in
            if !thread.send(.refresh(waiter)) { waiter.resume() }
        }
    }

    /// Starts listening. Later calls have no effect.
    package func start() {
        thread.start()
    }

    /// Makes the thread stop listening and release the inhibitor lock soon. ``report`` keeps its last value.
    package func shutdown() {
        thread.stop()
    }
}

/// An order to the thread of a ``DeviceMonitor``.
enum DeviceOrder: Sendable {
    case holdAwake(String?)
    case refresh(CheckedContinuation<Void, Never>)
}
