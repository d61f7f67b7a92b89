import Foundation
import Synchronization

/// What was measured, as it is printed. Times are seconds, memory is bytes.
struct LoadReport: Encodable {
    var devices: Int
    var enrolment: Phase?
    var connection: Phase?
    var memory: Memory?
    var storm: Storm?
    /// From the gateway's receipt of a push to its arrival, in whole milliseconds, as seconds.
    var deliveries: Spread?
    /// Connections that ended though nobody had ended them here.
    var lost = 0
    /// Devices that came back after that, each time counted.
    var returned = 0

    struct Phase: Encodable {
        var seconds: Double
        var perSecond: Double
        var failures: Int
        /// What the failures said, each once.
        var reasons: [String]

        init(count: Int, seconds: Double, errors: [any Error]) {
            self.seconds = seconds
            perSecond = Double(count - errors.count) / seconds
            failures = errors.count
            reasons = Array(Set(errors.map { "\($0)" }).sorted().prefix(5))
        }
    }

    struct Memory: Encodable {
        var before: Int
        var after: Int
        var perConnection: Double

        init(before: Int, after: Int, devices: Int) {
            self.before = before
            self.after = after
            perConnection = Double(after - before) / Double(devices)
        }
    }

    /// Devices that were cut off at once.
    struct Storm: Encodable {
        var devices: Int
        /// From the cut until the last one was back.
        var seconds: Double
        /// From the cut until a device was back, with its pause.
        var away: Spread?
        /// From the beginning of the attempt that succeeded.
        var attempt: Spread?
        var failedAttempts: Int
        /// The most in any one second.
        var handshakesPerSecond: Int
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// How values are spread.
struct Spread: Encodable {
    var count: Int
    var p50: Double
    var p99: Double
    var highest: Double

    /// Nil of nothing.
    init?(_ values: [Double]) {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        count = sorted.count
        p50 = sorted[(sorted.count - 1) / 2]
        p99 = sorted[Int((Double(sorted.count) * 0.99).rounded(.up)) - 1]
        highest = sorted[sorted.count - 1]
    }
}

/// How long each push took that came.
final class Deliveries: Sendable {
    /// Values that are kept: 16 MB.
    private static let limit = 2_000_000

    private let latencies = Mutex<[Double]>([])

    func add(_ seconds: Double) {
        latencies.withLock { latencies in
            if latencies.count < Self.limit { latencies.append(seconds) }
        }
    }

    func spread() -> Spread? { Spread(latencies.withLock { $0 }) }
}
