/// What origins have shown of how they like to be asked: which of them send one small file after the other over HTTP/2, so that
/// requests to them share a connection, and which of them want HTTP/1.1.
///
/// The size of a response is only known when it has come, and one that turns out large would have to share its connection's
/// congestion window. So an origin has to have shown what it sends.
struct OriginHabits {
    /// Small responses in a row, the latest origin last.
    private(set) var runs: [(origin: String, count: Int)] = []
    /// The origins that want HTTP/1.1, the latest last.
    private(set) var oldVersions: [String] = []

    /// A response of up to so many bytes is small.
    static let smallBytes: Int64 = 1 << 20
    /// Small responses in a row that make a habit.
    static let habit = 8
    static let maximumOrigins = 64

    func sendsSmallFiles(_ origin: String) -> Bool {
        runs.contains { $0.origin == origin && $0.count >= Self.habit }
    }

    /// A response has come as far as `bytes`.
    mutating func record(_ origin: String, bytes: Int64) {
        let index = runs.firstIndex { $0.origin == origin }
        let count = index.map { runs.remove(at: $0).count } ?? 0
        guard bytes <= Self.smallBytes else { return }
        if runs.count >= Self.maximumOrigins { runs.removeFirst() }
        runs.append((origin, min(count + 1, Self.habit)))
    }

    /// Whether HTTP/2 is not to be offered to it.
    func wantsHTTP1(_ origin: String) -> Bool { oldVersions.contains(origin) }

    /// It has refused to answer over HTTP/2 (RFC 9113, section 7), or its HTTP/2 does not work.
    mutating func recordHTTP1(_ origin: String) {
        oldVersions.removeAll { $0 == origin }
        if oldVersions.count >= Self.maximumOrigins { oldVersions.removeFirst() }
        oldVersions.append(origin)
    }
}
