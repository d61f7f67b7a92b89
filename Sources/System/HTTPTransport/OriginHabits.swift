/// The observed behaviour of origins. It records which origins send many small files over HTTP/2, so that requests to
/// them can share a connection, and which origins require HTTP/1.1.
///
/// The size of a response is known only after it has arrived, and a large response would have to share the congestion
/// window of its connection. So an origin shares connections only after it has sent several small files.
struct OriginHabits {
    /// The number of consecutive small responses per origin, with the most recent origin last.
    private(set) var runs: [(origin: String, count: Int)] = []
    /// The origins that require HTTP/1.1, with the most recent origin last.
    private(set) var oldVersions: [String] = []

    /// The maximum size of a response that counts as small.
    static let smallBytes: Int64 = 1 << 20
    /// The number of consecutive small responses after which an origin shares connections.
    static let habit = 8
    static let maximumOrigins = 64

    func sendsSmallFiles(_ origin: String) -> Bool {
        runs.contains { $0.origin == origin && $0.count >= Self.habit }
    }

    /// Records a response of which `bytes` bytes have arrived.
    mutating func record(_ origin: String, bytes: Int64) {
        let index = runs.firstIndex { $0.origin == origin }
        let count = index.map { runs.remove(at: $0).count } ?? 0
        guard bytes <= Self.smallBytes else { return }
        if runs.count >= Self.maximumOrigins { runs.removeFirst() }
        runs.append((origin, min(count + 1, Self.habit)))
    }

    /// Returns whether the origin requires HTTP/1.1, so that HTTP/2 is not offered to it.
    func wantsHTTP1(_ origin: String) -> Bool { oldVersions.contains(origin) }

    /// Records that the origin refused to answer over HTTP/2 (RFC 9113, section 7), or that its HTTP/2 does not work.
    mutating func recordHTTP1(_ origin: String) {
        oldVersions.removeAll { $0 == origin }
        if oldVersions.count >= Self.maximumOrigins { oldVersions.removeFirst() }
        oldVersions.append(origin)
    }
}
