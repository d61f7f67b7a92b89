import Synchronization

/// What is counted, for Prometheus.
package final class Metrics: Sendable {
    private let state = Mutex<[String: Int]>([:])
    private let gauges = Mutex<[String: Int]>([:])

    package init() {}

    /// Adds one to a counter, named as Prometheus has it: `name{label="value"}`.
    package func count(_ name: String) {
        state.withLock { $0[name, default: 0] += 1 }
    }

    package func change(_ gauge: String, by difference: Int) {
        gauges.withLock { $0[gauge, default: 0] += difference }
    }

    package func value(_ name: String) -> Int {
        state.withLock { $0[name] } ?? gauges.withLock { $0[name] } ?? 0
    }

    /// The text format of Prometheus.
    package func text(_ others: [(name: String, value: Int)]) -> String {
        let counters = state.withLock { $0 }.map { ($0.key, $0.value, "counter") }
        let levels =
            gauges.withLock { $0 }.map { ($0.key, $0.value, "gauge") } + others.map { ($0.name, $0.value, "gauge") }
        var text = ""
        var family = ""
        for (name, value, kind) in (counters + levels).sorted(by: { $0.0 < $1.0 }) {
            let base = String(name.prefix { $0 != "{" })
            if base != family {
                family = base
                text += "# TYPE \(base) \(kind)\n"
            }
            text += "\(name) \(value)\n"
        }
        return text
    }
}
