import CNightshift

/// The pools of a loop: one for each group of requests that may use each other's connections.
struct ConnectionPools {
    private var ungrouped: ConnectionPool?
    /// The one used last comes last.
    private var groups: [(name: String, pool: ConnectionPool)] = []

    /// Groups whose connections are kept. More are rare, and a connection is only worth a handshake.
    static let maximumGroups = 16

    /// The pool of a group, or of the requests without one.
    mutating func pool(for group: String?) -> ConnectionPool {
        guard let group else {
            let pool = ungrouped ?? ConnectionPool()
            ungrouped = pool
            return pool
        }
        let index = groups.firstIndex { $0.name == group }
        let pool = index.map { groups.remove(at: $0).pool } ?? ConnectionPool()
        if groups.count >= Self.maximumGroups { groups.removeFirst() }
        groups.append((group, pool))
        return pool
    }

    /// Leaves a pool to what runs on it.
    mutating func retire(_ pool: ConnectionPool) {
        if ungrouped === pool { ungrouped = nil }
        groups.removeAll { $0.pool === pool }
    }
}

/// Connections, addresses and TLS sessions kept for reuse; what runs on them keeps them alive.
final class ConnectionPool {
    let share: UnsafeMutableRawPointer?

    init() {
        share = curl_share_init()
        for kind in [CURL_LOCK_DATA_CONNECT, CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
            _ = nightshift_curl_share_set_long(share, CURLSHOPT_SHARE, Int(kind.rawValue))
        }
    }

    deinit {
        curl_share_cleanup(share)
    }
}
