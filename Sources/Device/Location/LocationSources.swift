import Foundation
package import NightshiftAPI

/// The location sources of the device: gpsd, GeoClue and ModemManager, or an override.
///
/// One thread listens. It sleeps in poll(2) until an event arrives. While no app needs a location, the thread has no
/// connection to any source. An override, from ``DeviceKey/location`` or from a trace, is the only source while it is
/// set. While a trace is played instead of the device, the real sources are not used.
package final class LocationSources: FixSource {
    package let updates: AsyncStream<FixUpdate>

    private let board: LocationChannel
    private let configuration: LocationConfiguration

    /// - Parameters:
    ///   - monitor: the monitor that reports the location override.
    ///   - environment: the environment of the service. `DBUS_SYSTEM_BUS_ADDRESS` and `NIGHTSHIFT_GPSD` are used.
    package init(monitor: DeviceMonitor, environment: [String: String]) {
        // The buffer size limits how many updates a reader may leave unread. A request produces two updates.
        let (updates, continuation) = AsyncStream.makeStream(
            of: FixUpdate.self, bufferingPolicy: .bufferingNewest(256))
        self.updates = updates
        let board = LocationChannel(continuation: continuation)
        self.board = board
        configuration = LocationConfiguration(environment: environment, isTraced: monitor.isTraced)
        monitor.listenForPlace { [weak board] word in board?.setPlace(word) }
    }

    deinit {
        board.end()
    }

    /// Starts the listening thread, which then checks which sources are available. Later calls have no effect.
    /// ``want(_:)`` and ``look()`` also start the thread.
    package func start() {
        guard board.begin() else { return }
        let thread = Thread { [board, configuration] in
            LocationListener(board: board, configuration: configuration).run()
        }
        thread.name = "location"
        thread.stackSize = 256 << 10
        thread.start()
    }

    package func want(_ wish: FixDemand) {
        board.want(wish)
        start()
    }

    package func look() async -> FixUpdate? {
        await withCheckedContinuation { waiter in
            board.look(waiter)
            start()
        }
    }

    package func shutdown() {
        board.end()
    }
}

/// The addresses of the sources.
struct LocationConfiguration: Equatable, Sendable {
    var busAddress: String
    var gpsd: GpsdAddress
    /// Whether a trace is played instead of the device.
    var isTraced: Bool

    init(environment: [String: String], isTraced: Bool) {
        busAddress = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? BusAddress.wellKnown
        gpsd = GpsdAddress(environment["NIGHTSHIFT_GPSD"])
        self.isTraced = isTraced
    }
}
