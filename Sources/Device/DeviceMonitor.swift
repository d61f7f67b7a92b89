import Foundation
package import NightshiftAPI

/// The device's conditions, as the system's services and the kernel tell them, or as a trace has them.
///
/// Every method may be called from any thread and blocks for no longer than a lock. One thread listens; it sleeps in
/// poll(2) until somebody says something.
package final class DeviceMonitor: Sendable {
    package enum Source: Sendable {
        /// The real device. The system bus is at `address` (D-Bus specification, "Server Addresses"), by default where
        /// `DBUS_SYSTEM_BUS_ADDRESS` says, or at the well-known place.
        case system(address: String? = nil)
        /// A file of ``TraceLine``s, played in real time from ``DeviceMonitor/start()`` on.
        case trace(path: String)
    }

    private enum Script {
        case bus(address: String)
        case trace(DeviceTrace)
    }

    /// A value each time the report has changed; several changes that nobody has seen yet are one. For one reader.
    ///
    /// A change of free space alone is none: it is read anew with every other change. Ends with ``shutdown()``.
    package let changes: AsyncStream<Void>

    private let board: ReportBoard
    private let script: Script
    private let path: String

    /// Free space is that of the file system of `path`. Throws ``UnreadableTrace``.
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
        board = ReportBoard(readings: readings, overrides: overrides, continuation: continuation)
    }

    deinit {
        board.end()
    }

    package var report: DeviceReport { board.report }

    /// Replaces all overrides. One that is no value of its key has no effect.
    package func setOverrides(_ overrides: [DeviceKey: String]) {
        board.setOverrides(overrides)
    }

    /// Whether a trace is played in place of the device: then nobody else is to be asked about it.
    var isTraced: Bool {
        if case .trace = script { true } else { false }
    }

    func listenForPlace(_ listener: @escaping @Sendable (PlaceWord?) -> Void) {
        board.listenForPlace(listener)
    }

    /// Keeps the machine from sleeping and from going idle for as long as the reason stays, through a logind inhibitor
    /// lock; nil ends that.
    ///
    /// Where logind is not there or refuses, nothing happens, and its provider's detail says so. A logind that comes later
    /// is asked then.
    package func holdAwake(_ why: String?) {
        board.holdAwake(why)
    }

    /// Asks again for what may change unannounced, as `IdleHint` does; returns when ``report`` has the answer.
    ///
    /// A service that does not answer for ``BusObserver/patience`` does not count in it. A trace is never out of date.
    package func refresh() async {
        guard !isTraced else { return }
        await board.refresh()
    }

    /// Begins to listen, the first time it is called.
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

    /// Ends listening and the inhibitor lock, soon; ``report`` stays as it is.
    package func shutdown() {
        board.end()
    }
}
