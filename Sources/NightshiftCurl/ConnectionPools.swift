import CNightshift

/// The pools of a loop: one for each group of requests that may use each other's connections.
struct ConnectionPools {
    private var ungrouped: ConnectionPool?
    /// The groups, with the most recently used one last.
    private var groups: [(name: String, pool: ConnectionPool)] = []

    /// The maximum number of groups whose connections are kept. More groups are rare, and losing a connection costs
    /// only a handshake.
    static let maximumGroups = 16

    /// The pool of a group; nil is the group of requests without one.
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

    /// Removes a pool from reuse. Exchanges that use it keep it until they end.
    mutating func retire(_ pool: ConnectionPool) {
        if ungrouped === pool { ungrouped = nil }
        groups.removeAll { $0.pool === pool }
    }
}

/// Connections, addresses and TLS sessions kept for reuse. Exchanges that use them keep the pool alive.
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
