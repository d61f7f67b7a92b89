import Foundation
package import NightshiftAPI

/// Where the device is, as gpsd, GeoClue and ModemManager tell, or as somebody has set it.
///
/// One thread listens; it sleeps in poll(2) until somebody says something. While nothing is wanted there is no connection to
/// anybody. A place that is set by ``DeviceKey/location``, or played by a trace, is the only source as long as it stands; where
/// a trace is played in place of the device nobody else is asked.
package final class LocationSources: FixSource {
    package let updates: AsyncStream<FixUpdate>

    private let board: LocationBoard
    private let configuration: LocationConfiguration

    /// - Parameters:
    ///   - monitor: says which place is set.
    ///   - environment: that of the service: `DBUS_SYSTEM_BUS_ADDRESS` and `NIGHTSHIFT_GPSD`.
    package init(monitor: DeviceMonitor, environment: [String: String]) {
        // As many as a reader may leave unread; a request has two.
        let (updates, continuation) = AsyncStream.makeStream(
            of: FixUpdate.self, bufferingPolicy: .bufferingNewest(256))
        self.updates = updates
        let board = LocationBoard(continuation: continuation)
        self.board = board
        configuration = LocationConfiguration(environment: environment, isTraced: monitor.isTraced)
        monitor.listenForPlace { [weak board] word in board?.setPlace(word) }
    }

    deinit {
        board.end()
    }

    /// Begins to listen, the first time it is called, and looks at what sources there are. So do a wish and ``look()``.
    package func start() {
        guard board.begin() else { return }
        let thread = Thread { [board, configuration] in
            LocationListener(board: board, configuration: configuration).run()
        }
        thread.name = "location"
        thread.stackSize = 256 << 10
        thread.start()
    }

    package func want(_ wish: FixWish) {
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

/// Where the sources are.
struct LocationConfiguration: Equatable, Sendable {
    var busAddress: String
    var gpsd: GpsdAddress
    /// Whether a trace is played in place of the device.
    var isTraced: Bool

    init(environment: [String: String], isTraced: Bool) {
        busAddress = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? BusAddress.wellKnown
        gpsd = GpsdAddress(environment["NIGHTSHIFT_GPSD"])
        self.isTraced = isTraced
    }
}
