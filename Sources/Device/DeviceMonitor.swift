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

    private enum Script {
        case bus(address: String)
        case trace(DeviceTrace)
    }

    /// A stream that yields a value each time the report has changed. Changes that have not been read yet are merged
    /// into one. The stream supports one reader and ends with ``shutdown()``.
    ///
    /// A change of free space alone does not yield a value. Free space is read again with every other change.
    package let changes: AsyncStream<Void>

    private let board: ReportChannel
    private let script: Script
    private let path: String

    /// Creates a monitor that reports the free space of the file system of `path`. Throws ``UnreadableTrace``.
    package init(_ source: Source, freeSpaceOf path: String, overrides: [DeviceKey: String] = [:]) throws {
        self.path = path
        let readings: [ProviderReading]
        switch source {
        case .system(let address):
            let environment = ProcessInfo.processInfo.environment
            script = .bus(address: address ?? environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? BusAddress.wellKnown)
            readings = BusObserver().readings + [.absent(.kernel, "not read yet")]
        case .trace(let tracePath):
            let trace = try DeviceTrace(path: tracePath)
            script = .trace(trace)
            readings = [trace.reading(at: -1)]
        }
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.changes = changes
        board = ReportChannel(readings: readings, overrides: overrides, continuation: continuation)
    }

    deinit {
        board.end()
    }

    package var report: DeviceReport { board.report }

    /// Replaces all overrides. An override that is not a valid value of its key has no effect.
    package func setOverrides(_ overrides: [DeviceKey: String]) {
        board.setOverrides(overrides)
    }

    /// Whether a trace is played instead of the device. The real sources are not used then.
    var isTraced: Bool {
        if case .trace = script { true } else { false }
    }

    func listenForPlace(_ listener: @escaping @Sendable (LocationSetting?) -> Void) {
        board.listenForPlace(listener)
    }

    /// Keeps the machine from sleeping and from becoming idle while a reason is set, through a logind inhibitor lock.
    /// Nil releases the lock.
    ///
    /// If logind is missing or refuses the lock, this has no effect, and the detail of logind's provider says so. The
    /// lock is requested again if logind starts later.
    package func holdAwake(_ why: String?) {
        board.holdAwake(why)
    }

    /// Requests values whose changes are not announced, such as `IdleHint`. Returns when ``report`` contains the
    /// answer, or after ``BusObserver/timeout`` if a service does not answer.
    ///
    /// A trace is always up to date.
    package func refresh() async {
        guard !isTraced else { return }
        await board.refresh()
    }

    /// Starts listening. Later calls have no effect.
    package func start() {
        guard board.begin() else { return }
        let thread: Thread
        switch script {
        case .bus(let address):
            thread = Thread { [board, path] in
                BusListener(board: board, address: address, freeSpaceOf: path).run()
            }
        case .trace(let trace):
            thread = Thread { [board] in TracePlayer(board: board, trace: trace).run() }
        }
        thread.name = "device"
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// Makes the thread stop listening and release the inhibitor lock soon. ``report`` keeps its last value.
    package func shutdown() {
        board.end()
    }
}
