import CNightshift
import Glibc
import NightshiftAPI

/// The thread that sends requests to the location sources and publishes their updates on the channel.
final class LocationListener {
    private let board: LocationChannel
    private let configuration: LocationConfiguration
    private var machine: LocationMachine
    private var wishes = 0
    private var looks = 0
    private var gpsd: GpsdConnection?
    private var bus: LocationBus?
    private var pending: [LocationMachine.Action] = []
    private var isPerforming = false
    /// The watch for the socket of a bus that is needed and unavailable.
    private var socketWatch: SocketWatch?

    /// The maximum number of bus messages to read before the thread checks for new requests.
    private static let mostMessages = 256

    init(board: LocationChannel, configuration: LocationConfiguration) {
        self.board = board
        self.configuration = configuration
        machine = LocationMachine(configuration, word: board.takeOrders().place)
    }

    func run() {
        perform(machine.begin(now: now))
        while takeOrders(), wait() {}
        perform(machine.end(now: now))
        board.end()
    }

    private func takeOrders() -> Bool {
        let requests = board.takeOrders()
        guard !requests.isEnded else { return false }
        perform(machine.setPlace(requests.place, now: now))
        if requests.wishes != wishes {
            wishes = requests.wishes
            perform(machine.want(requests.wish, now: now))
        }
        if requests.looks != looks {
            looks = requests.looks
            perform(machine.lookAgain(now: now))
        }
        return true
    }

    /// Sleeps until an event arrives and handles it. Returns false if it cannot sleep.
    private func wait() -> Bool {
        followSocket()
        // poll(2) ignores negative descriptors.
        var polled = [
            pollfd(fd: board.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: gpsd?.descriptor ?? -1, events: gpsd?.events ?? 0, revents: 0),
            pollfd(fd: bus?.descriptor ?? -1, events: bus?.events ?? 0, revents: 0),
            pollfd(fd: socketWatch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&polled, nfds_t(polled.count), timeout)
        guard count >= 0 || errno == EINTR else { return false }
        if polled[1].revents != 0 { readGpsd() }
        readBus()
        if polled[3].revents != 0, socketWatch?.isNews() == true {
            perform(machine.busAppeared(now: now))
        }
        perform(machine.tick(now: now))
        return true
    }

    private var timeout: Int32 {
        let own = PollTimeout.milliseconds(until: machine.deadline, now: now)
        // sd-bus uses a clock that stops during sleep.
        let awake = Double(nightshift_awake_nanoseconds()) / 1e9
        let buses = PollTimeout.milliseconds(until: bus?.deadline, now: awake)
        return own < 0 ? buses : buses < 0 ? own : min(own, buses)
    }

    private func followSocket() {
        if !machine.awaitsBus {
            socketWatch = nil
        } else {
            watchSocket()
        }
    }

    private func watchSocket() {
        if socketWatch == nil { socketWatch = SocketWatch(paths: BusAddress.socketPaths(configuration.busAddress)) }
    }

    private func readGpsd() {
        guard let gpsd else { return }
        do throws(GpsdFailure) {
            for report in try gpsd.next() {
                // Handling the first report may have closed the connection.
                guard self.gpsd === gpsd else { return }
                perform(machine.gpsdReported(report, now: now))
            }
        } catch {
            self.gpsd = nil
            perform(machine.gpsdEnded(error, now: now))
        }
    }

    private func readBus() {
        guard let bus else { return }
        do throws(BusFailure) {
            for _ in 0..<Self.mostMessages {
                guard self.bus === bus, let event = try bus.next() else { return }
                perform(machine.busSaid(event, now: now))
            }
        } catch {
            self.bus = nil
            perform(machine.busEnded(error, now: now))
        }
    }

    /// Executes actions. If an action causes further actions, these run after all earlier ones.
    private func perform(_ actions: [LocationMachine.Action]) {
        pending += actions
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !pending.isEmpty {
            switch pending.removeFirst() {
            case .tell(let update): board.tell(update)
            case .looked(let update): board.looked(update)
            case .openGpsd(let purpose): openGpsd(purpose)
            case .closeGpsd: gpsd = nil
            case .openBus: openBus()
            case .closeBus: bus = nil
            // A request that cannot be sent is treated like a request that gets no answer.
            case .send(let request): try? bus?.send(request)
            }
        }
    }

    private func openGpsd(_ purpose: GpsdConnection.Purpose) {
        gpsd = nil
        guard case .host(let host, let port) = configuration.gpsd else { return }
        do throws(GpsdFailure) {
            gpsd = try GpsdConnection(host: host, port: port, for: purpose)
        } catch {
            perform(machine.gpsdEnded(error, now: now))
        }
    }

    private func openBus() {
        // The watch begins before the attempt, so that a socket that appears right after a failed attempt is noticed.
        if machine.needsBus { watchSocket() }
        do throws(BusFailure) {
            bus = try LocationBus(address: configuration.busAddress)
            perform(machine.busConnected(now: now))
        } catch {
            bus = nil
            perform(machine.busEnded(error, now: now))
        }
    }

    private var now: Double { Double(nightshift_boot_nanoseconds()) / 1e9 }
}
