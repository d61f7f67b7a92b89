package import NightshiftAPI

/// The location sources of the device: gpsd, GeoClue and ModemManager, or an override.
///
/// One thread listens. It sleeps in poll(2) until an event arrives. While no app needs a location, the thread has no
/// connection to any source. An override, from ``DeviceKey/location`` or from a trace, is the only source while it is
/// set. While a trace is played instead of the device, the real sources are not used.
package final class LocationSources: FixSource {
    package var updates: AsyncStream<FixUpdate> { thread.events }

    private let thread: PollThread<LocationOrder, FixUpdate>

    /// - Parameters:
    ///   - monitor: the monitor that reports the location override.
    ///   - environment: the environment of the service. `DBUS_SYSTEM_BUS_ADDRESS` and `NIGHTSHIFT_GPSD` are used.
    package init(monitor: DeviceMonitor, environment: [String: String]) {
        // The buffer size limits how many updates a reader may leave unread. A request produces two updates.
        let configuration = LocationConfiguration(environment: environment, isTraced: monitor.isTraced)
        let thread = PollThread("location", buffering: .bufferingNewest(256)) {
            LocationListener($0, configuration)
        }
        self.thread = thread
        monitor.listenForPlace { [weak thread] word in thread?.send(.setPlace(word)) }
    }

    deinit {
        thread.stop()
    }

    /// Starts the listening thread, which then checks which sources are available. Later calls have no effect.
    /// ``want(_:)`` and ``look()`` also start the thread.
    package func start() {
        thread.start()
    }

    package func want(_ wish: FixDemand) {
        thread.send(.want(wish))
        start()
    }

    package func look() async -> FixUpdate? {
        // The thread receives every order that is sent after the start, so the caller gets an answer.
        start()
        return await withCheckedContinuation { waiter in
            if !thread.send(.look(waiter)) { waiter.resume(returning: nil) }
        }
    }

    package func shutdown() {
        thread.stop()
    }
}

/// An order to the thread of ``LocationSources``.
enum LocationOrder: Sendable {
    case want(FixDemand)
    case setPlace(LocationSetting?)
    /// Requests a check of the sources. The caller receives the result, or nil if the thread ends first.
    case look(CheckedContinuation<FixUpdate?, Never>)
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
