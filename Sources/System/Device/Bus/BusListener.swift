import CNightshift
import Glibc
import NightshiftAPI

/// The loop that listens to the bus and the kernel and publishes the reports.
final class BusListener: PollLoop {
    private let thread: PollThread<DeviceOrder, Void>
    private let current: CurrentReport
    private let address: String
    private let path: String
    private let network: Int32
    private var connection: BusConnection?
    private var socketWatch: SocketWatch?
    /// The kernel's device events. They are used only if the bus does not report power changes, because most device
    /// events are about other devices.
    private var deviceEvents: DeviceEvents?
    private var observer = BusObserver()
    private var reconnection = Reconnection()
    private var gauge = SleepGauge()
    /// Whether the machine has slept since the last report.
    private var hasSlept = false
    /// The callers that wait for new readings.
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(
        _ thread: PollThread<DeviceOrder, Void>, _ current: CurrentReport, address: String, freeSpaceOf path: String
    ) {
        self.thread = thread
        self.current = current
        self.address = address
        self.path = path
        network = nightshift_network_change_descriptor()
    }

    deinit {
        if network >= 0 { close(network) }
    }

    var sources: [pollfd] {
        [
            pollfd(reading: network), pollfd(reading: connection?.descriptor, events: connection?.events ?? 0),
            pollfd(reading: socketWatch?.descriptor), pollfd(reading: deviceEvents?.descriptor),
        ]
    }

    var deadline: Double? {
        let next = connection.map(\.deadline) ?? reconnection.deadline
        return [next, observer.deadline].compactMap(\.self).min()
    }

    func begin(_ orders: [DeviceOrder]) {
        lookForSleep()
        connect(hasAppeared: false)
        handle(orders)
        publish()
    }

    func wake(_ isReady: [Bool], _ orders: [DeviceOrder]) {
        lookForSleep()
        handle(orders)
        let networkChanged = isReady[0] && drainNetwork()
        let hasAppeared = isReady[2] && socketWatch?.isNews() == true
        if connection == nil, networkChanged || hasAppeared || reconnection.deadline.map({ $0 <= now }) == true {
            connect(hasAppeared: hasAppeared)
        }
        listen()
        if isReady[3], deviceEvents?.tellOfPower() == true { perform(observer.powerSupplyChanged(now: now)) }
        observer.tick(now: now)
        publish()
        followPower()
    }

    func end(_ orders: [DeviceOrder]) {
        perform(observer.disconnected("monitoring has ended", now: now))
        for case .refresh(let waiter) in orders { waiting.append(waiter) }
        resumeWaiting()
    }

    private func handle(_ orders: [DeviceOrder]) {
        for order in orders {
            switch order {
            case .holdAwake(let reason): perform(observer.holdAwake(reason, now: now))
            case .refresh(let waiter):
                waiting.append(waiter)
                perform(observer.refresh(now: now))
            }
        }
    }

    private func resumeWaiting() {
        for waiter in waiting { waiter.resume() }
        waiting = []
    }

    private func followPower() {
        guard observer.asksLogindForPower else {
            deviceEvents = nil
            return
        }
        guard deviceEvents == nil, let events = DeviceEvents() else { return }
        deviceEvents = events
        // Power changes before this were not reported.
        perform(observer.powerSupplyChanged(now: now))
    }

    private func lookForSleep() {
        let boot = Double(nightshift_boot_nanoseconds()) / 1e9
        if gauge.hasSlept(boot: boot, awake: now) { hasSlept = true }
    }

    private func connect(hasAppeared: Bool) {
        // The watch begins before the attempt, so that a socket that appears right after a failed attempt is noticed.
        if socketWatch == nil { socketWatch = SocketWatch(paths: BusAddress.socketPaths(address)) }
        do {
            connection = try BusConnection(address: address)
            reconnection.reached()
            perform(observer.connected(now: now))
            listen()
        } catch {
            disconnect(error, hasAppeared: hasAppeared)
        }
    }

    private func listen() {
        guard let connection else { return }
        do {
            while let event = try connection.next() {
                // Any answer shows that a bus is present.
                reconnection.succeeded()
                socketWatch = nil
                perform(observer.handle(event, now: now))
                // If a sleep and its end arrive together, two reports are published.
                if case .prepareForSleep = event { publish() }
            }
        } catch {
            disconnect(error, hasAppeared: false)
        }
    }

    private func disconnect(_ failure: BusFailure, hasAppeared: Bool) {
        connection = nil
        perform(observer.disconnected("cannot connect to the system bus at \(address): \(failure.text)", now: now))
        if socketWatch == nil { socketWatch = SocketWatch(paths: BusAddress.socketPaths(address)) }
        reconnection.failed(hasAppeared: hasAppeared, now: now)
    }

    private func perform(_ actions: [BusObserver.Action]) {
        for action in actions {
            switch action {
            case .close(let descriptor): close(descriptor)
            case .send(let request):
                // A request that cannot be sent is treated like a request that gets no answer.
                try? connection?.send(request)
            }
        }
    }

    private func publish() {
        let (kernel, interface) = KernelReading.now(freeSpaceOf: path)
        perform(observer.route(through: interface, now: now))
        let isNews = current.setReadings(
            observer.readings + [kernel], isSettled: connection == nil || observer.isSettled, slept: hasSlept)
        if isNews { thread.publish(()) }
        if observer.isRefreshed { resumeWaiting() }
        hasSlept = false
    }

    /// Reads all network notices, whose content is not used. Returns whether a notice arrived.
    private func drainNetwork() -> Bool {
        var notice: UInt8 = 0
        var isNews = false
        // Each call receives one notice. The error ENOBUFS means that the kernel has dropped notices.
        while recv(network, &notice, 1, Int32(MSG_DONTWAIT)) >= 0 || errno == ENOBUFS { isNews = true }
        return isNews
    }
}
