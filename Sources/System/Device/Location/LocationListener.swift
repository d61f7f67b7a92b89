import CNightshift
import Glibc
import NightshiftAPI

/// The loop that sends requests to the location sources and publishes their updates.
final class LocationListener: PollLoop {
    private let thread: PollThread<LocationOrder, FixUpdate>
    private let configuration: LocationConfiguration
    private var machine: LocationMachine
    /// The callers that wait for the result of a check of the sources.
    private var waiting: [CheckedContinuation<FixUpdate?, Never>] = []
    private var gpsd: GpsdConnection?
    private var bus: LocationBus?
    private var pending: [LocationMachine.Action] = []
    private var isPerforming = false
    /// The watch for the socket of a bus that is needed and unavailable.
    private var socketWatch: SocketWatch?

    /// The maximum number of bus messages to read before the thread checks for new requests.
    private static let mostMessages = 256

    init(_ thread: PollThread<LocationOrder, FixUpdate>, _ configuration: LocationConfiguration) {
        self.thread = thread
        self.configuration = configuration
        machine = LocationMachine(configuration, word: nil)
    }

    var sources: [pollfd] {
        [
            pollfd(reading: gpsd?.descriptor, events: gpsd?.events ?? 0),
            pollfd(reading: bus?.descriptor, events: bus?.events ?? 0), pollfd(reading: socketWatch?.descriptor),
        ]
    }

    /// The machine's clock runs while the machine sleeps. The clock of sd-bus and of poll(2) does not.
    var deadline: Double? {
        [machine.deadline.map { $0 - bootNow + now }, bus?.deadline].compactMap(\.self).min()
    }

    func begin(_ orders: [LocationOrder]) {
        // If a location is set at the start, the real sources are not used at all.
        for case .setPlace(let place) in orders.prefix(1) { machine = LocationMachine(configuration, word: place) }
        perform(machine.begin(now: bootNow))
        handle(orders)
    }

    func wake(_ isReady: [Bool], _ orders: [LocationOrder]) {
        if isReady[0] { readGpsd() }
        readBus()
        if isReady[2], socketWatch?.isNews() == true { perform(machine.busAppeared(now: bootNow)) }
        perform(machine.tick(now: bootNow))
        handle(orders)
    }

    func end(_ orders: [LocationOrder]) {
        perform(machine.end(now: bootNow))
        for case .look(let waiter) in orders { waiting.append(waiter) }
        resumeWaiting(with: nil)
    }

    private func handle(_ orders: [LocationOrder]) {
        for order in orders {
            switch order {
            case .want(let wish): perform(machine.want(wish, now: bootNow))
            case .setPlace(let place): perform(machine.setPlace(place, now: bootNow))
            case .look(let waiter):
                waiting.append(waiter)
                perform(machine.lookAgain(now: bootNow))
            }
        }
        followSocket()
    }

    private func resumeWaiting(with update: FixUpdate?) {
        for waiter in waiting { waiter.resume(returning: update) }
        waiting = []
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
                perform(machine.gpsdReported(report, now: bootNow))
            }
        } catch {
            self.gpsd = nil
            perform(machine.gpsdEnded(error, now: bootNow))
        }
    }

    private func readBus() {
        guard let bus else { return }
        do throws(BusFailure) {
            for _ in 0..<Self.mostMessages {
                guard self.bus === bus, let event = try bus.next() else { return }
                perform(machine.busSaid(event, now: bootNow))
            }
        } catch {
            self.bus = nil
            perform(machine.busEnded(error, now: bootNow))
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
            case .tell(let update): thread.publish(update)
            case .looked(let update): resumeWaiting(with: update)
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
            perform(machine.gpsdEnded(error, now: bootNow))
        }
    }

    private func openBus() {
        // The watch begins before the attempt, so that a socket that appears right after a failed attempt is noticed.
        if machine.needsBus { watchSocket() }
        do throws(BusFailure) {
            bus = try LocationBus(address: configuration.busAddress)
            perform(machine.busConnected(now: bootNow))
        } catch {
            bus = nil
            perform(machine.busEnded(error, now: bootNow))
        }
    }

    private var bootNow: Double { Double(nightshift_boot_nanoseconds()) / 1e9 }
}
