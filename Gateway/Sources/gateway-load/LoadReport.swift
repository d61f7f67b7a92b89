import Foundation
import Synchronization

/// The measurements, as they are printed. Times are in seconds, and memory is in bytes.
struct LoadReport: Encodable {
    var devices: Int
    var enrolment: Phase?
    var connection: Phase?
    var memory: Memory?
    var storm: Storm?
    /// The times from the gateway's receipt of a push to the arrival of the push, in seconds. They are measured in
    /// whole milliseconds.
    var deliveries: Spread?
    /// The number of connections that ended without being closed by this program.
    var lost = 0
    /// The number of reconnections of devices whose connection was lost.
    var returned = 0

    struct Phase: Encodable {
        var seconds: Double
        var perSecond: Double
        var failures: Int
        /// The error messages of the failures, each once.
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

    /// The measurements of devices that were disconnected at the same time.
    struct Storm: Encodable {
        var devices: Int
        /// The time from the disconnection until the last device had reconnected.
        var seconds: Double
        /// The times from the disconnection until each device had reconnected, including the pauses.
        var away: Spread?
        /// The durations of the successful attempts to reconnect.
        var attempt: Spread?
        var failedAttempts: Int
        /// The maximum number of handshakes in one second.
        var handshakesPerSecond: Int
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// The distribution of values.
struct Spread: Encodable {
    var count: Int
    var p50: Double
    var p99: Double
    var highest: Double

    /// Summarizes the values. Returns nil if the list is empty.
    init?(_ values: [Double]) {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        count = sorted.count
        p50 = sorted[(sorted.count - 1) / 2]
        p99 = sorted[Int((Double(sorted.count) * 0.99).rounded(.up)) - 1]
        highest = sorted[sorted.count - 1]
    }
}

/// The delivery times of all pushes that arrived.
final class Deliveries: Sendable {
    /// The maximum number of stored values. They take 16 MB.
    private static let limit = 2_000_000

    private let latencies = Mutex<[Double]>([])

    func add(_ seconds: Double) {
        latencies.withLock { latencies in
            if latencies.count < Self.limit { latencies.append(seconds) }
        }
    }

    func spread() -> Spread? { Spread(latencies.withLock { $0 }) }
}
