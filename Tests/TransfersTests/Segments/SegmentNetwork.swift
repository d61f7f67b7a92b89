import Store
import Testing
import Transfers

/// Scripted servers and routes in virtual time, and the resulting file.
///
/// The network executes the actions of the scheduler and checks its invariants.
final class SegmentNetwork {
    /// The behaviour of the servers and routes.
    struct Script {
        /// The seconds from the request to the first byte.
        var latency = 0.02
        /// The rate of a connection in bytes per second, by its number and the time.
        var rate: (Int, Double) -> Double = { _, _ in 10_000_000 }
        /// The highest rate in bytes per second of each slot at the server. A connection takes the lowest free slot.
        var place: (Int) -> Double = { _ in .infinity }
        /// The total rate of all connections to a source in bytes per second.
        var total: (Int) -> Double = { _ in .infinity }
        /// The total rate of all connections in bytes per second, by the time.
        var totalAt: (Double) -> Double = { _ in .infinity }
        /// The seconds between bursts of a connection, as with rate-limited servers, or 0 for a steady flow.
        var burst: Double = 0
        /// The number of bytes after which a connection breaks, by its number.
        var dies: (Int) -> Int64? = { _ in nil }
        /// The largest number of bytes of one response.
        var cap: Int64 = .max
        /// The number of connections to one source above which the server answers 503.
        var refusesBeyond = Int.max
        /// The response to a connection, by its number, that does not match the request.
        var answer: (Int) -> SegmentEnd? = { _ in nil }
        /// The number of additional bytes before the requested ones.
        var early: Int64 = 0
    }

    struct Connection {
        var source: Int
        var asked: Range<Int64>
        var end: Int64
        var position: Int64
        var servedEnd: Int64
        var begunAt: Double
        var isAnswered = false
        var isStopped = false
        var received: Double = 0
        var heardAt = 0.0
        var place = 0
        /// The bytes that the next burst will send, and the time of the burst.
        var held: Double = 0
        var burstAt = 0.0
    }

    let script: Script
    private(set) var limits: SegmentLimits
    private(set) var scheduler: SegmentScheduler
    private(set) var now = 0.0
    private(set) var running: [ConnectionID: Connection] = [:]
    /// The bytes written by all connections.
    private(set) var file = ByteRanges()
    /// The number of bytes received over all connections.
    private(set) var received: Int64 = 0
    private(set) var log: [(time: Double, action: SegmentAction)] = []
    private(set) var outcome: SegmentAction?
    private(set) var most = 0
    private var begun: Set<ConnectionID> = []
    private var dropped: Set<Int> = []
    /// The time step of the simulation in seconds.
    private let step = 0.01
    /// The transport's idle timeout in seconds.
    private let idleTimeout: Double = 60

    init(_ script: Script, map: SegmentMap, limits: SegmentLimits, sources: Int = 1) {
        self.script = script
        self.limits = limits
        scheduler = SegmentScheduler(map: map, limits: limits, sources: sources, now: 0)
        file = map.written
    }

    /// Adopts a single response that arrives from `position` on, as the service does.
    func adopt(at position: Int64 = 0) {
        let total = scheduler.map.total
        now = script.latency
        running[ConnectionID(0)] = Connection(
            source: 0, asked: position..<total, end: total, position: position, servedEnd: total, begunAt: 0,
            isAnswered: true)
        begun.insert(ConnectionID(0))
        most = 1
        execute(
            scheduler.adopt(position: position, servedEnd: total, begunAt: 0, answeredAt: now, now: now))
    }

    func start() { execute(scheduler.start(now: now)) }

    func change(_ limits: SegmentLimits) {
        self.limits = limits
        execute(scheduler.change(limits, now: now))
    }

    /// Lets time pass until the scheduler is done, or until this many seconds have passed.
    func run(for seconds: Double = .infinity, limit: Double = 10_000) {
        let until = min(now + seconds, limit)
        while outcome == nil, now < until {
            now += step
            move()
            finishBodies()
            answer()
            guard outcome == nil, let deadline = scheduler.nextDeadline, now >= deadline else { continue }
            reportProgress()
        }
        if seconds == .infinity { always(outcome != nil, "it ends") }
    }

    /// Reports the positions of all connections to the scheduler.
    func reportProgress() {
        execute(scheduler.progressed(running.mapValues(\.position), now: now))
    }

    func end(_ id: ConnectionID, _ end: SegmentEnd) {
        guard outcome == nil, running[id] != nil else { return }
        reportProgress()
        guard outcome == nil, let connection = running.removeValue(forKey: id) else { return }
        execute(scheduler.ended(id, position: connection.position, end, now: now))
    }

    // MARK: - The simulated network

    private func move() {
        var rates: [ConnectionID: Double] = [:]
        for (id, connection) in running where connection.isAnswered && !connection.isStopped {
            rates[id] = min(script.rate(id.number, now), script.place(connection.place))
        }
        for source in Set(running.values.map(\.source)) {
            let ids = rates.keys.filter { running[$0]?.source == source }
            let sum = ids.reduce(0) { $0 + (rates[$1] ?? 0) }
            let share = min(1, min(script.total(source), script.totalAt(now)) / max(sum, 1))
            for id in ids { rates[id, default: 0] *= share }
        }
        for (id, rate) in rates {
            guard var connection = running[id] else { continue }
            let before = Int64(connection.received)
            let bound = max(0, min(connection.end, connection.servedEnd) - connection.position)
            connection.held += rate * step
            if now >= connection.burstAt {
                // The first burst contains the bytes that are allowed until the second burst.
                let isFirst = connection.received == 0
                connection.received += isFirst ? max(connection.held, rate * script.burst) : connection.held
                connection.held = 0
                connection.burstAt = now + script.burst
            }
            if let death = script.dies(id.number) { connection.received = min(connection.received, Double(death)) }
            let count = min(bound, Int64(connection.received) - before)
            file.insert(connection.position..<connection.position + count)
            connection.position += count
            received += count
            if count > 0 { connection.heardAt = now }
            running[id] = connection
        }
    }

    private func finishBodies() {
        for id in running.keys.sorted() {
            guard let connection = running[id], connection.isAnswered else { continue }
            if connection.isStopped {
                end(id, .stopped)
            } else if connection.position >= min(connection.end, connection.servedEnd) {
                end(id, .complete)
            } else if let death = script.dies(id.number), connection.received >= Double(death) {
                end(id, .failed)
            } else if now - connection.heardAt > idleTimeout {
                end(id, .failed)
            }
        }
    }

    private func answer() {
        for id in running.keys.sorted() {
            guard let connection = running[id], !connection.isAnswered else { continue }
            if connection.isStopped {
                end(id, .stopped)
                continue
            }
            guard now >= connection.begunAt + script.latency else { continue }
            let served = running.values.count { $0.source == connection.source && $0.isAnswered }
            if served >= script.refusesBeyond {
                end(id, .busy(until: nil))
            } else if let answer = script.answer(id.number) {
                end(id, answer)
            } else {
                let start = max(0, connection.asked.lowerBound - script.early)
                let length = min(Int64(connection.asked.count), script.cap)
                running[id]?.isAnswered = true
                running[id]?.heardAt = now
                running[id]?.position = start
                running[id]?.servedEnd = connection.asked.lowerBound + length
                let range = start..<connection.asked.lowerBound + length
                if outcome == nil { execute(scheduler.answered(id, served: range, now: now)) }
            }
        }
    }

    // MARK: - Invariants

    private func execute(_ actions: [SegmentAction]) {
        for action in actions {
            always(outcome == nil, "\(action) after \(String(describing: outcome))")
            log.append((now, action))
            switch action {
            case .begin(let id, let source, let range): begin(id, source, range)
            case .setEnd(let id, let end):
                always(end <= scheduler.map.total, "an end within the file")
                always(running[id] != nil, "an end for a connection that runs")
                running[id]?.end = end
            case .stop(let id, _):
                always(running[id] != nil, "a stop of a connection that runs")
                always(running[id]?.isStopped == false, "one stop each")
                running[id]?.isStopped = true
            case .dropSource(let source, _):
                always(source > 0 && !dropped.contains(source), "mirrors are dropped, and once")
                dropped.insert(source)
            case .limitHost, .single: break
            case .finished:
                always(file.prefix == scheduler.map.total, "finished without a gap")
                outcome = action
            case .fallBack, .refused, .exhausted: outcome = action
            }
        }
        always(file.isSuperset(of: scheduler.map.written), "no byte is claimed that was not written")
        always(scheduler.isOver == (outcome != nil), "an end is reported")
    }

    private func begin(_ id: ConnectionID, _ source: Int, _ range: Range<Int64>) {
        always(begun.insert(id).inserted, "numbers are used once")
        always(!dropped.contains(source), "a mirror that was dropped stays so")
        always(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= scheduler.map.total, "bytes of the file")
        always(scheduler.map.missing.isSuperset(of: ByteRanges(range)), "only what is missing is asked for")
        let overlapping = scheduler.segments.filter {
            $0.id != id && running[$0.id]?.isStopped == false && $0.range.overlaps(range)
        }
        always(overlapping.count <= 1, "raced by one at most")
        always(overlapping.isEmpty || range.count <= 1 << 20, "only ends are raced")
        let place = (0...running.count).first { place in !running.values.contains { $0.place == place } }
        running[id] = Connection(
            source: source, asked: range, end: range.upperBound, position: range.lowerBound,
            servedEnd: range.upperBound, begunAt: now, place: place ?? 0)
        let count = running.values.count { $0.source == source }
        always(count <= limits.connectionsPerHost, "\(count) connections to one source")
        always(limits.forced == nil || running.count <= limits.forced ?? 1, "the forced number holds")
        most = max(most, running.count)
    }

    /// The number of bytes that were received twice.
    var wasted: Int64 { received - file.count }
}
