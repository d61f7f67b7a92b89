import CNightshift
import NightshiftAPI
import Yielding

/// The exchanges of one route whose bodies yield to other traffic, in one direction.
///
/// The kernel measures the round trip of each connection. ``YieldController`` turns it into a window, which this class
/// divides into the connections' receive windows, or sets as the rate at which the kernel sends. Where the segments carry
/// no timestamps, ``WindowRoundTrip`` estimates the round trip. This class is used on the loop's thread.
final class YieldRoute {
    private var controller: YieldController
    /// The round trip, while the kernel cannot measure it.
    private var windowRoundTrip = WindowRoundTrip()
    /// The window of all connections together in bytes.
    private var window = 0
    private let sends: Bool
    private(set) var members: [CurlTransfer] = []
    /// The bytes of each connection at the last measurement.
    private var counts: [Int32: Int64] = [:]
    /// The time of the last measurement.
    private(set) var lastUse: Double

    /// The window of a connection without a limit.
    private static let unlimitedWindow = Int32(1 << 30)

    init(sends: Bool, now: Double) {
        self.sends = sends
        var settings = YieldSettings()
        // A sender's round trip varies by more than such a target, because the peer delays acknowledgements.
        settings.lowersTarget = !sends
        controller = YieldController(settings, now: now)
        lastUse = now
    }

    func add(_ transfer: CurlTransfer) { members.append(transfer) }

    /// Removes an exchange, and lifts the limits of its connection.
    func remove(_ transfer: CurlTransfer) {
        members.removeAll { $0 === transfer }
        transfer.setYieldLimit(isStopped: false, pace: nil)
        transfer.request.yields?.show(nil)
        defer { transfer.yielding.socket = nil }
        guard let socket = transfer.yieldSocket, !members.contains(where: { $0.yieldSocket == socket }) else { return }
        counts[socket] = nil
        if sends {
            _ = nightshift_tcp_limit_pace(socket, .max)
        } else {
            _ = nightshift_tcp_limit_window(socket, Self.unlimitedWindow)
        }
    }

    /// Measures all connections, and sets their windows. Returns the exchanges that may continue.
    func measure(now: Double) -> [CurlTransfer] {
        let elapsed = max(now - lastUse, 0)
        lastUse = now
        var sockets: [Int32] = []
        for case let socket? in members.map(\.yieldSocket) where !sockets.contains(socket) { sockets.append(socket) }
        var sample = YieldSample(roundTrip: nil, bytes: 0, segment: 0)
        sample.connections = 0
        var isMeasurable = false
        for socket in sockets {
            guard let reading = TCPReading(socket, sends: sends) else { continue }
            isMeasurable = isMeasurable || reading.isMeasurable
            let bytes = max(reading.bytes - (counts.updateValue(reading.bytes, forKey: socket) ?? reading.bytes), 0)
            sample.bytes += bytes
            sample.segment = max(sample.segment, reading.segment)
            sample.connections += bytes > 0 ? 1 : 0
            // Where nothing arrived, the time is an old one.
            guard bytes > 0, let roundTrip = reading.roundTrip else { continue }
            sample.roundTrip = min(sample.roundTrip ?? .infinity, roundTrip)
        }
        counts = counts.filter { sockets.contains($0.key) }
        if isMeasurable || window == 0 {
            controller.update(sample, now: now)
        } else {
            let estimate = windowRoundTrip.add(
                sample.bytes, elapsed: elapsed, window: Double(window), segment: sample.segment)
            guard let estimate else { return [] }
            controller.update(estimate, now: now)
        }
        show(isMeasurable: isMeasurable)
        guard !sends else {
            setPace(of: sockets)
            return []
        }
        return setWindows(of: sockets, segment: sample.segment, now: now)
    }

    private func setPace(of sockets: [Int32]) {
        guard let roundTrip = controller.roundTrip, roundTrip > 0, !sockets.isEmpty else { return }
        let pace = UInt64(clamping: Int64(saturating: controller.window / roundTrip / Double(sockets.count)))
        for socket in sockets { _ = nightshift_tcp_limit_pace(socket, max(pace, 1)) }
    }

    private func setWindows(of sockets: [Int32], segment: Int, now: Double) -> [CurlTransfer] {
        guard segment > 0 else { return [] }
        let division = YieldDivision(
            window: controller.window, roundTrip: controller.roundTrip, segment: segment, connections: sockets.count)
        window = division.active * division.window
        var released: [CurlTransfer] = []
        for (index, socket) in sockets.enumerated() {
            let isActive = division.isActive(index, of: sockets.count, at: now)
            let window = isActive ? division.window : YieldDivision.fewestSegments * segment
            _ = nightshift_tcp_limit_window(socket, Int32(clamping: min(window, Int(Self.unlimitedWindow))))
            let users = members.filter { $0.yieldSocket == socket }
            for user in users {
                let pace = division.pace.map { $0 / Double(users.count) }
                if user.setYieldLimit(isStopped: !isActive, pace: pace) { released.append(user) }
            }
        }
        return released
    }

    private func show(isMeasurable: Bool) {
        guard let roundTrip = controller.roundTrip, let base = controller.baseDelay else { return }
        let state = YieldStatus(
            bytesPerSecond: controller.rate, capacity: controller.capacity, roundTrip: roundTrip,
            target: base + controller.target, isEstimate: !isMeasurable, isYielding: controller.isYielding)
        for member in members { member.request.yields?.show(state) }
    }
}

/// The kernel's measurements of one connection in one direction.
private struct TCPReading {
    /// The bytes that have arrived, or that the peer has acknowledged.
    var bytes: Int64
    /// The mean round-trip time in seconds; nil if unknown.
    var roundTrip: Double?
    var segment: Int
    /// Whether the kernel measures the round trip continuously.
    var isMeasurable: Bool

    init?(_ socket: Int32, sends: Bool) {
        var reading = nightshift_tcp_reading()
        guard nightshift_tcp_read(socket, &reading) else { return nil }
        bytes = sends ? reading.acknowledged : reading.received
        isMeasurable = sends || reading.has_timestamps
        let microseconds = sends ? reading.send_round_trip : reading.receive_round_trip
        roundTrip = microseconds > 0 && isMeasurable ? Double(microseconds) / 1e6 : nil
        segment = Int(sends ? reading.send_segment : reading.receive_segment)
    }
}

/// The routes of one loop whose exchanges yield to other traffic.
final class YieldRoutes {
    private var routes: [Key: YieldRoute] = [:]
    /// The time of the next measurement; infinite if no exchange yields.
    private(set) var nextMeasurement = Double.infinity

    private struct Key: Hashable {
        var route: String
        var sends: Bool
    }

    /// The interval of measurements in seconds. It is about the round trip of a usual route.
    private static let interval = 0.05
    /// The time in seconds for which a route without exchanges is remembered.
    private static let memory = 60.0

    /// Adds an exchange whose body is on its way, unless it does not yield or is a member already.
    func add(_ transfer: CurlTransfer, sends: Bool, now: Double) {
        guard let wish = transfer.request.yields, !transfer.yielding.isMember else { return }
        transfer.yielding.isMember = true
        let key = Key(route: wish.route, sends: sends)
        routes = routes.filter { !$0.value.members.isEmpty || now - $0.value.lastUse < Self.memory }
        let route = routes[key] ?? YieldRoute(sends: sends, now: now)
        routes[key] = route
        route.add(transfer)
        nextMeasurement = min(nextMeasurement, now)
    }

    func remove(_ transfer: CurlTransfer) {
        guard transfer.yielding.isMember else { return }
        transfer.yielding.isMember = false
        for route in routes.values where route.members.contains(where: { $0 === transfer }) { route.remove(transfer) }
        if routes.values.allSatisfy(\.members.isEmpty) { nextMeasurement = .infinity }
    }

    /// Removes the exchanges of a connection that is about to be closed. One that is sent again joins its route again.
    func remove(socket: Int32) {
        // A body that left libcurl keeps its socket open.
        for transfer in routes.values.flatMap(\.members)
        where transfer.socketBody == nil && transfer.yielding.socket == socket { remove(transfer) }
    }

    /// Measures all routes if it is time. Returns the exchanges that may continue.
    func measure(now: Double) -> [CurlTransfer] {
        guard now >= nextMeasurement else { return [] }
        nextMeasurement = now + Self.interval
        return routes.values.filter { !$0.members.isEmpty }.flatMap { $0.measure(now: now) }
    }
}
