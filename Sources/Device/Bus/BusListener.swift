import CNightshift
import Glibc
import NightshiftAPI

/// The thread that listens to the bus and the kernel, and publishes reports on the channel.
final class BusListener {
    private let board: ReportChannel
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
    /// The number of the last requested reading, and the number of the last reading that has arrived.
    private var refreshes = (requested: 0, done: 0)

    init(board: ReportChannel, address: String, freeSpaceOf path: String) {
        self.board = board
        self.address = address
        self.path = path
        network = nightshift_network_change_descriptor()
    }

    func run() {
        lookForSleep()
        connect(hasAppeared: false)
        publish()
        while wait() {}
        perform(observer.disconnected("monitoring has ended", now: now))
        if network >= 0 { close(network) }
    }

    /// Sleeps until an event arrives and handles it. Returns false at the end.
    private func wait() -> Bool {
        // poll(2) ignores negative descriptors.
        var polled = [
            pollfd(fd: board.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: network, events: Int16(POLLIN), revents: 0),
            pollfd(fd: connection?.descriptor ?? -1, events: connection?.events ?? 0, revents: 0),
            pollfd(fd: socketWatch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: deviceEvents?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&polled, nfds_t(polled.count), PollTimeout.milliseconds(until: deadline, now: now))
        guard count >= 0 || errno == EINTR else { return false }
        lookForSleep()
        let isReady = polled.map { $0.revents != 0 }
        if isReady[0] {
            let wishes = board.takeWishes()
            guard !wishes.isEnded else { return false }
            perform(observer.holdAwake(wishes.awakeReason, now: now))
            if wishes.refreshes > refreshes.requested {
                refreshes.requested = wishes.refreshes
                perform(observer.refresh(now: now))
            }
        }
        let networkChanged = isReady[1] && drainNetwork()
        let hasAppeared = isReady[3] && socketWatch?.isNews() == true
        if connection == nil, networkChanged || hasAppeared || reconnection.deadline.map({ $0 <= now }) == true {
            connect(hasAppeared: hasAppeared)
        }
        listen()
        if isReady[4], deviceEvents?.tellOfPower() == true { perform(observer.powerSupplyChanged(now: now)) }
        observer.tick(now: now)
        publish()
        followPower()
        return true
    }

    private var deadline: Double? {
        let next = connection.map(\.deadline) ?? reconnection.deadline
        return [next, observer.deadline].compactMap(\.self).min()
    }

    private var now: Double { Double(nightshift_awake_nanoseconds()) / 1e9 }

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
        if observer.isRefreshed { refreshes.done = refreshes.requested }
        board.publish(
            observer.readings + [kernel], isSettled: connection == nil || observer.isSettled, slept: hasSlept,
            refreshes: refreshes.done)
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

/// A converter of deadlines to the timeout argument of poll(2).
enum PollTimeout {
    /// Returns the timeout in milliseconds. It is rounded up, so that the deadline has passed when poll(2) returns.
    static func milliseconds(until deadline: Double?, now: Double) -> Int32 {
        guard let deadline else { return -1 }
        return Int32(saturating: min(max(0, ((deadline - now) * 1000).rounded(.up)), 86_400_000))
    }
}
