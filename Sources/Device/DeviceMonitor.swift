import Foundation
package import NightshiftAPI

/// The device's conditions, as reported by system services and the kernel, or as played from a trace.
///
/// Every method may be called from any thread and blocks for no longer than a lock. One thread listens; it sleeps in
/// poll(2) until an event arrives.
package final class DeviceMonitor: Sendable {
    package enum Source: Sendable {
        /// The real device. The system bus is at `address` (D-Bus specification, "Server Addresses"). The default is
        /// the value of `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known address.
        case system(address: String? = nil)
        /// A file of ``TraceLine``s, played in real time from the call of ``DeviceMonitor/start()``.
        case trace(path: String)
    }

    private enum Script {
        case bus(address: String)
        case trace(DeviceTrace)
    }

    /// Yields a value each time the report has changed. Changes that have not been read yet are merged into one. For
    /// one reader.
    ///
    /// A change of free space alone is not reported; free space is read again with every other change. Ends with
    /// ``shutdown()``.
    package let changes: AsyncStream<Void>

    private let board: ReportChannel
    private let script: Script
    private let path: String

    /// Creates a monitor. Free space is that of the file system of `path`. Throws ``UnreadableTrace``.
    package init(_ source: Source, freeSpaceOf path: String, overrides: [DeviceKey: String] = [:]) throws {
        self.path = path
        let readings: [ProviderReading]
        switch source {
        case .system(let address):
            let environment = ProcessInfo.processInfo.environment
            script = .bus(address: address ?? environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? BusAddress.wellKnown)
            readings = BusObserver().readings + [.absent(.kernel, "not asked yet")]
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

    /// Whether a trace is played instead of the device. No other source is then asked.
    var isTraced: Bool {
        if case .trace = script { true } else { false }
    }

    func listenForPlace(_ listener: @escaping @Sendable (LocationSetting?) -> Void) {
        board.listenForPlace(listener)
    }

    /// Keeps the machine from sleeping and from becoming idle while a reason is set, through a logind inhibitor lock.
    /// Nil releases the lock.
    ///
    /// If logind is missing or refuses, this has no effect, and the detail of its provider says so. A logind that
    /// starts later is asked then.
    package func holdAwake(_ why: String?) {
        board.holdAwake(why)
    }

    /// Requests values whose changes are not announced, such as `IdleHint`. Returns when ``report`` contains the
    /// answer.
    ///
    /// A service that does not answer within ``BusObserver/timeout`` is not waited for. A trace is never out of date.
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

    /// Stops listening and releases the inhibitor lock soon after. ``report`` keeps its last value.
    package func shutdown() {
        board.end()
    }
}
