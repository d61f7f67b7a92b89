/// The hosts whose transfers use the service's connection slots, as a sentence for display. This is a pure value.
struct HeldPlaces {
    private var counts: [String: Int] = [:]
    private var slow = 0

    /// Counts the running transfers of each host.
    ///
    /// - Parameter running: the origin of each running transfer, and whether the transfer is slow.
    init(_ running: [(origin: String, isSlow: Bool)]) {
        for (origin, isSlow) in running {
            counts[origin, default: 0] += 1
            slow += isSlow ? 1 : 0
        }
    }

    /// The sentence, for example "32 transfers run: 6 of http://a.example, 6 of http://b.example, 20 of 4 other hosts.
    /// 12 of them receive almost no bytes."
    var sentence: String {
        let total = counts.values.reduce(0, +)
        let ranked = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        var parts = ranked.prefix(Self.named).map { "\($0.value) of \($0.key)" }
        let others = ranked.dropFirst(Self.named)
        if !others.isEmpty {
            let count = others.reduce(0) { $0 + $1.value }
            parts.append("\(count) of \(others.count) other \(others.count == 1 ? "host" : "hosts")")
        }
        let run = total == 1 ? "1 transfer runs" : "\(total) transfers run"
        let slowness =
            switch slow {
            case 0: ""
            case 1: total == 1 ? " It receives almost no bytes." : " One of them receives almost no bytes."
            default: " \(slow == total ? "All" : "\(slow)") of them receive almost no bytes."
            }
        return "\(run)\(parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))." + slowness
    }

    private static let named = 3
}
