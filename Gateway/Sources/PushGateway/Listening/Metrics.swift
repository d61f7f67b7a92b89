import Synchronization

/// The gateway's counters for Prometheus.
package final class Metrics: Sendable {
    private let state = Mutex<[String: Int]>([:])

    package init() {}

    /// Adds one to a counter. The counter's name has Prometheus's form: `name{label="value"}`.
    package func count(_ name: String) {
        state.withLock { $0[name, default: 0] += 1 }
    }

    /// Returns all values in the text format of Prometheus.
    ///
    /// - Parameter others: further values, which are measured when they are requested.
    package func text(_ others: [(name: String, value: Int)]) -> String {
        let counters = state.withLock { $0 }.map { ($0.key, $0.value, "counter") }
        let levels = others.map { ($0.name, $0.value, "gauge") }
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
