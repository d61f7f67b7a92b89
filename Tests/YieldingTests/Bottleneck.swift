import Yielding

/// A simulated line with one queue, a yielding route and other traffic, in steps of a millisecond.
struct Bottleneck {
    /// In bytes per second.
    var capacity: Double
    /// The round-trip time without a queue, in seconds.
    var base: Double
    /// The size of the queue in bytes.
    let buffer: Double
    /// The largest rate of the sender of the yielding route, in bytes per second.
    var senderRate = Double.infinity
    /// The number of connections of the yielding route. Each of them sends only whole segments.
    var connections = 1
    var others: [Other] = []
    /// Whether segments carry timestamps, so that the kernel measures the round trip.
    var hasTimestamps = true

    private(set) var now = 100.0
    private(set) var queue = 0.0
    private(set) var controller: YieldController
    /// The bytes that the yielding route has received.
    private(set) var received = 0.0
    private var sinceUpdate = 0.0
    private var nextUpdate = 100.0
    private var mean: Double
    private var unmeasured = 0.0
    private var windowRoundTrip = WindowRoundTrip()

    static let segment = 1_448.0
    private static let step = 0.001
    private static let interval = 0.05

    /// Traffic that does not yield.
    struct Other {
        enum Kind {
            /// A sender that halves its window when the queue is full, and otherwise adds a segment in each round trip. Its
            /// first window doubles.
            case lossBased
            /// A sender that has at most twice the bytes under way that the line without a queue holds.
            case paced
            /// A sender with a constant rate in bytes per second.
            case constant(Double)
        }

        var kind: Kind
        var window = 10 * segment
        var received = 0.0
        var doubles = true
        var deafUntil = 0.0
        /// The largest rate of the last seconds.
        var best = 0.0

        init(_ kind: Kind) { self.kind = kind }
    }

    /// - Parameters:
    ///   - megabits: the rate of the line in Mbit/s.
    ///   - milliseconds: the round-trip time without a queue.
    ///   - queue: the size of the queue in milliseconds.
    init(megabits: Double, milliseconds: Double, queue: Double, _ settings: YieldSettings = YieldSettings()) {
        capacity = megabits * 125_000
        base = milliseconds / 1_000
        buffer = capacity * queue / 1_000
        controller = YieldController(settings, now: 100)
        mean = milliseconds / 1_000
    }

    /// The delay that the queue adds now, in seconds.
    var delay: Double { queue / capacity }

    /// Lets time pass, and returns the bytes that the yielding route received in it.
    mutating func run(_ seconds: Double, yields: Bool = true, each: (Bottleneck) -> Void = { _ in }) -> Double {
        let (end, before) = (now + seconds, received)
        while now < end {
            advance(yields: yields)
            each(self)
        }
        return received - before
    }

    private mutating func advance(yields: Bool) {
        let (step, roundTrip) = (Self.step, base + delay)
        let share = controller.window / Double(connections)
        // Below two segments for each connection, some of them stop.
        let isWhole = connections > 1 && share >= 2 * Self.segment
        let used = isWhole ? Self.used(of: share) : share
        let own = yields ? min(Double(connections) * used / roundTrip, senderRate) * step : 0
        var sent = others.map { other in
            switch other.kind {
            case .lossBased: other.window / roundTrip * step
            case .paced: min(other.window / roundTrip, 1.25 * max(other.best, 10 * Self.segment / roundTrip)) * step
            case .constant(let rate): rate * step
            }
        }
        sent.append(own)
        let total = sent.reduce(0, +)
        let leaving = min(queue + total, capacity * step)
        queue += total - leaving
        let isFull = queue > buffer
        queue = min(queue, buffer)
        // Who sends more gets more of what leaves the queue.
        let passed = total > 0 ? leaving / total : 0
        for index in others.indices { adjust(&others[index], sent[index] * passed, roundTrip, isFull) }
        receive(own * passed, roundTrip)
        now += step
        guard now >= nextUpdate else { return }
        nextUpdate += Self.interval
        guard yields else {
            sinceUpdate = 0
            return
        }
        defer { sinceUpdate = 0 }
        if hasTimestamps {
            var sample = YieldSample(roundTrip: sinceUpdate > 0 ? mean : nil, bytes: Int64(sinceUpdate))
            sample.connections = connections
            controller.update(sample, now: now)
        } else if let sample = windowRoundTrip.add(
            Int64(sinceUpdate), elapsed: Self.interval, window: controller.window, segment: Int(Self.segment))
        {
            controller.update(sample, now: now)
        }
    }

    /// Returns the part of a connection's window that its sender uses. The kernel announces whole KiB, a sender sends
    /// whole segments, and a delayed acknowledgement takes time.
    private static func used(of window: Double) -> Double {
        let announced = (window / 1_024).rounded(.down) * 1_024
        return 0.85 * (announced / segment).rounded(.down) * segment
    }

    private mutating func receive(_ bytes: Double, _ roundTrip: Double) {
        received += bytes
        sinceUpdate += bytes
        // The kernel's mean: an eighth of each measurement, and a measurement for each second segment.
        unmeasured += bytes
        while unmeasured >= 2 * Self.segment {
            unmeasured -= 2 * Self.segment
            mean += (roundTrip - mean) / 8
        }
    }

    private func adjust(_ other: inout Other, _ bytes: Double, _ roundTrip: Double, _ isFull: Bool) {
        other.received += bytes
        let rate = bytes / Self.step
        switch other.kind {
        case .lossBased:
            if isFull, now >= other.deafUntil {
                other.window = max(other.window / 2, 2 * Self.segment)
                other.doubles = false
                other.deafUntil = now + 2 * roundTrip
            } else if other.doubles {
                other.window += bytes
            } else {
                // As cubic, faster than one segment in a round trip on a long route.
                other.window += max(Self.segment * bytes / other.window, 4 * Self.segment * Self.step)
            }
        case .paced:
            other.best = max(other.best * (1 - Self.step / 10), rate)
            other.window = max(2 * other.best * base, 4 * Self.segment)
        case .constant: break
        }
    }
}
