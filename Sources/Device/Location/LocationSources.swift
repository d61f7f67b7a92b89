import Foundation
package import NightshiftAPI

/// The location of the device, as reported by gpsd, GeoClue and ModemManager, or as set by an override or a trace.
///
/// One thread listens; it sleeps in poll(2) until an event arrives. While no location is wanted there is no connection
/// to any source. A location that is set by ``DeviceKey/location`` or played by a trace is the only source as long as
/// it is set. While a trace is played instead of the device, no other source is asked.
package final class LocationSources: FixSource {
    package let updates: AsyncStream<FixUpdate>

    private let board: LocationChannel
    private let configuration: LocationConfiguration

    /// - Parameters:
    ///   - monitor: reports the location that is set.
    ///   - environment: the environment of the service: `DBUS_SYSTEM_BUS_ADDRESS` and `NIGHTSHIFT_GPSD`.
    package init(monitor: DeviceMonitor, environment: [String: String]) {
        // The buffer holds as many updates as a reader may leave unread. A request has two.
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

    /// Starts listening and looks at the available sources. Later calls have no effect. A demand and ``look()`` also
    /// start it.
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
